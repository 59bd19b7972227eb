import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { freePort } from '../../embedded/children/free-port.ts'
import { createGracefulStop, type GracefulStop } from '../../platform/lifecycle/graceful-stop.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { up, type RunningPlatform } from '../../app/up.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { users } from '../../streams/user/aggregate.ts'
import { newContext, openTestStore } from '../engine/store/fixtures.ts'
import { userFact } from '../streams/user-facts.ts'
import { at, textAt } from '../../app/demo/members.ts'
import { runPlatform } from '../end-to-end/backup/backup-command.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  photograph,
  requestAssessment,
} from '../support/main-job.ts'
import { fastSettings } from '../support/platform.ts'
import { createApiClient, requestToken } from '../support/raw-api.ts'
import { freshDatabases, type FreshDatabases } from '../support/postgres.ts'
import { startUnmarkedProvider, type UnmarkedProvider } from '../support/unmarked-provider.ts'

const logger = createLogger({ level: 'silent' })

/** Whether something listens on the port now. The connection attempt starts before this returns. */
function isAnswering(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  return new Promise((resolve) => {
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
  }).then((answer) => {
    socket.destroy()
    return answer === true
  })
}

const answers: [name: string, isAnswering: Promise<boolean>][] = []
const graceful = createGracefulStop({ logger })
let platform: RunningPlatform
let dataDir: string
let database: FreshDatabases
let unmarked: UnmarkedProvider

beforeAll(async () => {
  let port: number
  ;[dataDir, port, database, unmarked] = await Promise.all([
    mkdtemp(join(tmpdir(), 'started-platform-')),
    freePort(),
    freshDatabases(),
    startUnmarkedProvider(),
  ])
  // Each part registers its own end as soon as it begins.
  const stop: GracefulStop = {
    ...graceful,
    get isStopping() {
      return graceful.isStopping
    },
    onStop(stage, name, close) {
      if (name === 'workers') answers.push([name, isAnswering(port)])
      graceful.onStop(stage, name, close)
    },
  }
  const env = {
    ...fastSettings,
    ...unmarked.env,
    PROVIDER_NAME: 'dermatology',
    PLATFORM_DATA_DIR: dataDir,
    PORT: String(port),
    DATABASE_URL: database.url,
    VAULT_DATABASE_URL: database.vaultUrl,
  }
  platform = await up({ env, logger, stop, onFatal: () => undefined })
})

afterAll(async () => {
  const code = await graceful.stop()
  await unmarked.close()
  await database.drop()
  await rm(dataDir, { recursive: true, force: true })
  expect(code).toBe(0)
})

it('steps begin only after the services that they call answer', async () => {
  expect(await Promise.all(answers.map(async ([name, answer]) => [name, await answer]))).toEqual([['workers', true]])
})

it('its metrics contain its read models, to-do lists and channels', async () => {
  const metrics = await (await fetch(`${platform.credentials.base_url}/metrics`)).text()
  for (const name of ['patients', 'assessments_todo'])
    expect(metrics).toMatch(new RegExp(`^projector_position\\{projector="${name}"\\} [1-9]\\d*$`, 'm'))
  expect(metrics).toContain('projector_state{projector="patients",state="live"} 1')
  expect(metrics).toContain('relay_state{channel="consent.events",state="blocked"} 0')
})

it('commands beside it make people and clients without being told its servers', async () => {
  const { org_id: org, product_id: product, base_url: baseUrl } = platform.credentials
  const people = ['--org', org, '--email']
  const ended = await Promise.all(
    [
      ['operators', 'create', ...people, 'ada@example.org'],
      ['administrators', 'create', ...people, 'bo@example.org'],
      ['clients', 'register', '--org', org, '--product', product, '--scope', 'patients:read', 'patients:erase'],
    ].map((args) => runPlatform(args, { PLATFORM_DATA_DIR: dataDir })),
  )
  expect(ended.map(({ code, err }) => [code, err])).toEqual([
    [0, ''],
    [0, ''],
    [0, ''],
  ])
  const [operator, administrator, client] = ended.map(({ out }) => JSON.parse(out) as unknown)
  for (const person of [operator, administrator])
    expect((await platform.store.load(users.of(textAt(person, 'user_id')))).state).toMatchObject({ status: 'active' })
  const secrets = { client_id: textAt(client, 'client_id'), client_secret: textAt(client, 'client_secret') }
  expect((await requestToken(baseUrl, secrets)).status).toBe(200)
})

it('states in memory are dropped when another process has erased a user', async () => {
  const { store, vault, credentials } = platform
  await using other = await openTestStore({ url: credentials.eventstore_url ?? '', catalogue, vault })
  const userId = randomUUID()
  const user = users.of(userId)
  await other.append(user, 'no_stream', [userFact('UserCreated', { userId })], newContext())
  expect((await store.load(user)).revision).toBe(0n)
  // The start of an erasure alone: the process `users` would drop them too.
  const end = userFact('UserKeyDestroyed', { userId })
  await other.append(user, 0n, [end], newContext())
  await expect.poll(() => store.presume(user).revision, { timeout: 20_000 }).toBe('no_stream')
})

it('completes reviews of a provider that is no simulator, under its name, and logs out there when it stops', async () => {
  const { base_url: baseUrl, org_id: org, provider_url: providerUrl, clients } = platform.credentials
  const { body } = await requestToken(baseUrl, clients[0] ?? { client_id: '', client_secret: '' })
  const api = createApiClient(baseUrl, textAt(body, 'access_token'))
  const patientId = await consentedPatient(api, await createConsentTerms(api, org))
  const id = await requestAssessment(api, assessmentBody(patientId, [await photograph()]))
  expect(await endOf(api, id)).toMatchObject({ status: 'completed', result: { ai_provider: 'dermatology' } })
  expect(providerUrl).toBe(unmarked.env.PROVIDER_BASE_URL)
  expect(at((await api.call('/health')).body, 'checks')).toContainEqual({ name: 'provider', status: 'ok' })
  expect(await graceful.stop()).toBe(0)
  expect((await unmarked.provider.story()).at(-1)).toBe('logout 200')
})
