import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { freePort } from '../../../embedded/children/free-port.ts'
import { textAt } from '../../../app/demo/members.ts'
import { createApiClient, requestToken, type ClientSecrets } from '../../support/raw-api.ts'
import { startPlatformApart, type PlatformApart, type RoleProcess } from '../../support/apart.ts'
import { fastSettings } from '../../support/platform.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'
import { expectLogged, readAtRandom } from '../audit/access-run.ts'
import { openOrganisationOfReads, type OrganisationOfReads } from '../audit/recorded-reads.ts'

// Twenty process starts on a busy machine.
vi.setConfig({ testTimeout: 600_000 })

const reads = 2_000
const kills = 20
const adminSecret = 'an-administrator-secret-of-40-characters'

let dataDir: string
let database: FreshDatabases
let platform: PlatformApart
let organisations: readonly OrganisationOfReads[]

beforeAll(async () => {
  ;[dataDir, database] = await Promise.all([mkdtemp(join(tmpdir(), 'killed-reads-')), freshDatabases()])
  platform = await startPlatformApart(dataDir, {
    ...fastSettings,
    PORT: String(await freePort()),
    ESDB_URL: '',
    DATABASE_URL: database.url,
    VAULT_DATABASE_URL: database.vaultUrl,
    ADMIN_API_SECRET: adminSecret,
    ACCESS_LOG_WINDOW_SECONDS: '0',
  })
  const { base_url: baseUrl, product_id: productId } = platform.credentials
  const connect = async (client: ClientSecrets) =>
    createApiClient(baseUrl, textAt((await requestToken(baseUrl, client)).body, 'access_token'))
  const connecting = { baseUrl, adminSecret, productId, connect }
  organisations = [await openOrganisationOfReads(connecting), await openOrganisationOfReads(connecting)]
})

afterAll(async () => {
  await platform.stop()
  await database.drop()
  await rm(dataDir, { recursive: true, force: true })
})

test(`each of ${reads} reads whose answer left is in the log, although ${kills} API processes are killed meanwhile`, async () => {
  const alive = platform.instances.filter(({ role }) => role === 'api')
  let killed = 0
  let killing = Promise.resolve()
  /** Kills the API process that has run longest. The next kill waits for the successor. */
  async function killOldest(): Promise<void> {
    const victim: RoleProcess | undefined = alive.shift()
    if (victim === undefined) throw new Error('no API process is left')
    await victim.kill()
    killed += 1
    alive.push(await platform.another('api'))
  }
  const sent = await readAtRandom(organisations, {
    count: reads,
    seed: 11,
    async after(done) {
      if (done % (reads / kills) !== reads / kills / 2) return
      await killing
      killing = killOldest()
    },
  })
  await killing
  expect(killed).toBe(kills)
  const lost = sent.filter(({ answer }) => answer === undefined)
  const answers = Map.groupBy(sent, ({ answer }) => answer?.status ?? 'none')
  const figures = [...answers].map(([status, { length }]) => `${status}: ${length}`).join(', ')
  process.stdout.write(`${kills} kills, answers: ${figures}\n`)
  // The kills met reads under way, and few of them: most of the answers left.
  expect(lost.length, figures).toBeGreaterThan(0)
  expect(lost.length, figures).toBeLessThan(reads / 4)
  await expectLogged(sent, organisations)
})
