import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../../embedded/children/free-port.ts'
import { at, textAt } from '../../../app/demo/members.ts'
import { createApiClient, requestToken, type ApiClient, type ClientSecrets } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { allRoles, type Role } from '../../../app/roles.ts'
import { readModels } from '../../../projections/registry.ts'
import { startPlatformApart, type PlatformApart, type RoleProcess } from '../../support/apart.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  expecting,
  photograph,
  requestAssessment,
  subscribeToEnds,
  webhooksAbout,
  type Photograph,
} from '../../support/main-job.ts'
import { clientOf, fastSettings, waitFor } from '../../support/platform.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'
import { providerAt } from '../../support/provider.ts'
import { expectLogged, readAtRandom } from '../audit/access-run.ts'
import { openOrganisationOfReads } from '../audit/recorded-reads.ts'

const shortLeases = { STEP_TIMEOUT_MS: '3500', STEP_LEASE_MS: '4000', WEBHOOK_TIMEOUT_MS: '2000' }
// Half a minute of retries, twice the default schedule, because a slow machine needs seconds to recover from a kill.
const patientStarts = { PROVIDER_START_RETRY_SCHEDULE_MS: '100,200,400,800,1600,3200,6400,12800' }
const perRound = 5
const reads = 300
const kills = 3

let dataDir: string
let database: FreshDatabases
let platform: PlatformApart
let receiver: WebhookReceiver
let api: ApiClient
let patientId: string
let image: Photograph
const killed = new Set<RoleProcess>()

beforeAll(async () => {
  ;[dataDir, database, receiver] = await Promise.all([
    mkdtemp(join(tmpdir(), 'killed-roles-')),
    freshDatabases(),
    startWebhookReceiver(),
  ])
  const settings = {
    ...fastSettings,
    ...shortLeases,
    ...patientStarts,
    PORT: String(await freePort()),
    ESDB_URL: '',
    DATABASE_URL: database.url,
    VAULT_DATABASE_URL: database.vaultUrl,
    ACCESS_LOG_WINDOW_SECONDS: '0',
  }
  platform = await startPlatformApart(dataDir, settings)
  const {
    base_url: baseUrl,
    org_id: orgId,
    provider_url: providerUrl,
    control_secret: controlSecret,
  } = platform.credentials
  const { body } = await requestToken(baseUrl, clientOf(platform, 0))
  api = createApiClient(baseUrl, textAt(body, 'access_token'))
  await providerAt(providerUrl ?? '', controlSecret ?? '').result({ sha256: '*', not_ready_polls: 2 })
  patientId = await consentedPatient(api, await createConsentTerms(api, orgId))
  image = await photograph()
  await subscribeToEnds(api, receiver)
})

afterAll(async () => {
  await platform.stop()
  await receiver.close()
  await database.drop()
  await rm(dataDir, { recursive: true, force: true })
})

/** Repeats a request if the answering process was killed meanwhile. */
async function untilEnded(id: string): Promise<unknown> {
  return waitFor(
    `the end of ${id}`,
    async () => {
      const answer = await api.call(`/v1/clinical-api/assessments/${id}`).catch(() => undefined)
      if (answer?.status !== 200 || at(answer.body, 'status') === 'processing') return undefined
      return answer.body
    },
    60_000,
  )
}

const living = () => platform.instances.filter((instance) => !killed.has(instance))

/** Kills the process of a role that has run longest. */
async function killOldest(role: Role): Promise<void> {
  const victim = living().find((instance) => instance.role === role)
  if (victim === undefined) throw new Error(`no ${role} is left`)
  killed.add(victim)
  await victim.kill()
}

test('both processes of every role are ready, show their role, and do their part', async () => {
  const reports = await Promise.all(
    platform.instances.map(async ({ port }) => (await fetch(`http://127.0.0.1:${port}/health/ready`)).json()),
  )
  const roles = reports.map((report) => `${textAt(report, 'status')} ${JSON.stringify(at(report, 'roles'))}`)
  expect(roles.toSorted()).toEqual([...allRoles, ...allRoles].map((role) => `ok ["${role}"]`).toSorted())
  expect(platform.front.answered().every((count) => count > 0)).toBe(true)
})

test(`each of ${reads} reads whose answer left is in the log, although ${kills} API processes are killed meanwhile`, async () => {
  const { base_url: baseUrl, product_id: productId } = platform.credentials
  const adminSecret = platform.credentials.admin_api_secret ?? ''
  const connect = async (client: ClientSecrets) =>
    createApiClient(baseUrl, textAt((await requestToken(baseUrl, client)).body, 'access_token'))
  const connecting = { baseUrl, adminSecret, productId, connect }
  const organisations = [await openOrganisationOfReads(connecting), await openOrganisationOfReads(connecting)]
  let replaced = 0
  let replacing = Promise.resolve()
  /** The next kill waits for the successor. */
  async function replaceOldest(): Promise<void> {
    await killOldest('api')
    await platform.another('api')
    replaced += 1
  }
  const sent = await readAtRandom(organisations, {
    count: reads,
    seed: 11,
    async after(done) {
      if (done % (reads / kills) !== reads / kills / 2) return
      await replacing
      replacing = replaceOldest()
    },
  })
  await replacing
  expect(replaced).toBe(kills)
  const lost = sent.filter(({ answer }) => answer === undefined)
  const answers = Map.groupBy(sent, ({ answer }) => answer?.status ?? 'none')
  const figures = [...answers].map(([status, { length }]) => `${status}: ${length}`).join(', ')
  process.stdout.write(`${kills} kills, answers: ${figures}\n`)
  // The kills met reads under way, and few of them: most of the answers left.
  expect(lost.length, figures).toBeGreaterThan(0)
  expect(lost.length, figures).toBeLessThan(reads / 4)
  await expectLogged(sent, organisations)
})

// One of the two rounds kills the active one of the two projectors.
test('assessments complete once each although one process of each role is killed meanwhile, twice', async () => {
  const ids: string[] = []
  for (let round = 1; round <= 2; round += 1) {
    const asked = Array.from({ length: perRound }, () => requestAssessment(api, assessmentBody(patientId, [image])))
    ids.push(...(await Promise.all(asked)))
    await Promise.all(allRoles.map(killOldest))
    await Promise.all(allRoles.map((role) => platform.another(role)))
  }
  const records = await Promise.all(ids.map(untilEnded))
  expect(records.map((record) => at(record, 'status'))).toEqual(ids.map(() => 'completed'))

  const caseIds = records.map((record) => textAt(record, 'case_id'))
  expect(new Set(caseIds).size).toBe(ids.length)
  for (const caseId of caseIds) {
    const { body } = await expecting(200, api.call(`/v1/ai-reviews?caseId=${caseId}`))
    expect([at(body, 'data', 0, 'status'), at(body, 'data', 1)]).toEqual(['completed', undefined])
  }
  for (const id of ids) {
    const webhooks = await waitFor(`the webhook about ${id}`, () =>
      webhooksAbout(receiver, id).length > 0 ? webhooksAbout(receiver, id) : undefined,
    )
    // A delivery that is interrupted between sending and recording is sent again under its id.
    expect(new Set(webhooks.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  }
})

test('after all projectors were killed, the API and the processor show each read model that no process runs', async () => {
  const watched = living().filter(({ role }) => role !== 'projector')
  expect(new Set(watched.map(({ role }) => role))).toEqual(new Set(['api', 'processor']))
  const stateOf = async ({ port }: RoleProcess) => {
    const health = await fetch(`http://127.0.0.1:${port}/health`)
    const checks = at(await health.json(), 'checks') as readonly unknown[]
    const check = checks.find((one) => at(one, 'name') === 'projections')
    const figures = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    const unattended = figures.match(/(?<=^projector_has_process\{projector=")\w+(?="\} 0$)/gm) ?? []
    return { status: health.status, check, unattended }
  }
  for (const instance of watched)
    expect(await stateOf(instance)).toMatchObject({ check: { status: 'ok' }, unattended: [] })

  await Promise.all([killOldest('projector'), killOldest('projector')])
  expect(living()).toEqual(watched)
  const names = readModels.map(({ name }) => name).toSorted()
  for (const instance of watched) {
    const shown = await waitFor(`the ${instance.role} to show it`, async () => {
      const state = await stateOf(instance)
      return state.unattended.length === names.length ? state : undefined
    })
    const detail = `no process runs ${names.join(', ')}`
    expect(shown).toEqual({
      status: 503,
      check: { name: 'projections', status: 'failing', detail },
      unattended: names,
    })
  }
  await platform.another('projector')
  for (const instance of watched)
    await waitFor(`the ${instance.role} to see the new projector`, async () =>
      at((await stateOf(instance)).check, 'status') === 'ok' ? true : undefined,
    )
})

test('SIGTERM ends a process of each role cleanly', async () => {
  const ended = await Promise.all(platform.instances.map(async (instance) => [instance.role, await instance.stop()]))
  // Both APIs and processors, and the projector that replaced the killed ones.
  expect(ended.filter(([, code]) => code === 0).length).toBe(5)
  expect(ended.filter(([, code]) => code !== null && code !== 0)).toEqual([])
})
