import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openAuditServers } from '../../../app/audit/audit-servers.ts'
import { at, textAt } from '../../../app/demo/members.ts'
import { startPlatformProcess, type PlatformProcess } from '../../../app/demo/platform-process.ts'
import { objectsIn } from '../../../tools/torture/checks/backups.ts'
import { eventsOfAll } from '../bad-days/recorded-events.ts'
import { newKeysText } from '../../platform/backup/planted-place.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  photograph,
  requestAssessment,
  type ConsentTerms,
} from '../../support/main-job.ts'
import { clientOf, fastSettings, waitFor } from '../../support/platform.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'
import { createApiClient, requestToken } from '../../support/raw-api.ts'
import { noServers, runPlatform } from './backup-command.ts'
import { eventsUpTo } from './stored-facts.ts'

const backupKeys = { BACKUP_KEYS: newKeysText('backup-1') }
/** Requests that are accepted before a backup begins, at least. */
const few = 2

let folder: string
let place: string
let databases: readonly [FreshDatabases, FreshDatabases]
let original: PlatformProcess
let terms: ConsentTerms
const running: PlatformProcess[] = []

const dataDir = () => join(folder, 'original')
const settingsOf = (database: FreshDatabases) => ({
  ...noServers,
  DATABASE_URL: database.url,
  VAULT_DATABASE_URL: database.vaultUrl,
})

async function start(dir: string, database: FreshDatabases): Promise<PlatformProcess> {
  const started = await startPlatformProcess(dir, { ...fastSettings, ...settingsOf(database) })
  running.push(started)
  return started
}

async function connect({ credentials }: PlatformProcess) {
  const { body } = await requestToken(credentials.base_url, clientOf({ credentials }, 0))
  return createApiClient(credentials.base_url, textAt(body, 'access_token'))
}

/** Requests assessments of new patients, one after another, until it is stopped. Resolves when a few were accepted. */
async function load(of: PlatformProcess): Promise<{ stop(): Promise<void> }> {
  const api = await connect(of)
  const picture = await photograph()
  const over = new AbortController()
  let accepted = 0
  const work = async () => {
    while (!over.signal.aborted) {
      const patientId = await consentedPatient(api, terms)
      await requestAssessment(api, assessmentBody(patientId, [picture]))
      accepted += 1
    }
  }
  const workers = Promise.all([work(), work()])
  workers.catch(() => undefined)
  await waitFor('accepted requests', () => (accepted > few ? true : undefined))
  return {
    async stop() {
      over.abort()
      await workers
    },
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'backups-under-load-'))
  place = join(folder, 'place')
  databases = await Promise.all([freshDatabases(), freshDatabases()])
  original = await start(dataDir(), databases[0])
  terms = await createConsentTerms(await connect(original), original.credentials.org_id)
})
afterAll(async () => {
  for (const each of running) await each.stop()
  await Promise.all(databases.map((each) => each.drop()))
  await rm(folder, { recursive: true, force: true })
})

/** Makes a backup under load. Resolves to what the command prints. */
async function backUp(): Promise<unknown> {
  const loaded = await load(original)
  const env = { ...backupKeys, PLATFORM_DATA_DIR: dataDir() }
  const { code, out } = await runPlatform(['backup', 'create', '--to', place, '--json'], env)
  expect(code).toBe(0)
  await loaded.stop()
  return JSON.parse(out)
}

test('backups under load, before and after a kill, are whole: events, rows, and each object that an event names', async () => {
  await backUp()
  await original.kill()
  // The work that the load has left goes on after the start.
  original = await start(dataDir(), databases[0])
  // It shares chunks with the first one.
  const newest = await backUp()
  expect(Number(at(newest, 'new_bytes'))).toBeLessThan(Number(at(newest, 'bytes')))
  expect(await runPlatform(['backup', 'verify', '--from', place], backupKeys)).toMatchObject({ code: 0 })

  const to = join(folder, 'copy')
  const env = { ...settingsOf(databases[1]), ...backupKeys }
  const args = ['backup', 'restore', '--from', place, '--to', to, '--accept-lost-erasures']
  const restored = await runPlatform(args, env)
  expect([restored.code, restored.err]).toEqual([0, expect.not.stringContaining('platform:')])
  const copy = await start(to, databases[1])
  const end = BigInt(textAt(newest, 'position').split('/')[0] ?? '')
  const [events, copied] = await Promise.all(
    [original, copy].map(({ credentials }) => eventsUpTo(credentials.eventstore_url ?? '', end)),
  )
  expect(copied?.length).toBeGreaterThan(50)
  expect(copied).toEqual(events)
  const verified = await waitFor('equal read models', async () => {
    const ended = await runPlatform(['projections', 'verify', '--all'], { ...env, PLATFORM_DATA_DIR: to })
    return ended.code === 0 ? ended : undefined
  })
  expect(verified.err).not.toContain('platform:')

  const servers = await openAuditServers({ ...env, PLATFORM_DATA_DIR: to })
  try {
    const facts = await eventsOfAll(copy.credentials.eventstore_url ?? '')
    const named = facts.flatMap(({ data }) => objectsIn(data)).filter(({ key }) => key.startsWith('images/'))
    expect(named.length).toBeGreaterThan(few)
    for (const { key, sha256 } of named)
      expect(
        createHash('sha256')
          .update(await servers.objects.get(key))
          .digest('hex'),
      ).toBe(sha256)
  } finally {
    await servers.close()
  }
})
