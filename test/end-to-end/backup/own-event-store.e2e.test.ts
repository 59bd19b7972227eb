import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { hostedEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { startEventStore } from 'embedded-eventstore'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { startPlatformProcess, type PlatformProcess } from '../../../app/demo/platform-process.ts'
import { newKeysText } from '../../platform/backup/planted-place.ts'
import { commandHere } from '../../support/command-here.ts'
import { registerPatient } from '../../support/main-job.ts'
import { clientOf, fastSettings } from '../../support/platform.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'
import { createApiClient, requestToken, type ApiClient } from '../../support/raw-api.ts'
import { noServers } from './backup-command.ts'

const backupKeys = { BACKUP_KEYS: newKeysText('backup-1') }
const closing: (() => Promise<unknown>)[] = []
let folder: string
/** Stands for the operator's server: the platform only has its address. */
let node: TestEventStore
let databases: readonly FreshDatabases[]
let patientId: string

const settingsOf = (url: string, database: FreshDatabases | undefined) => ({
  ...noServers,
  ESDB_URL: url,
  DATABASE_URL: database?.url ?? '',
  VAULT_DATABASE_URL: database?.vaultUrl ?? '',
})
const create = (command: string) =>
  commandHere(['backup', 'create', '--to', join(folder, 'place'), '--json'], {
    ...backupKeys,
    PLATFORM_DATA_DIR: join(folder, 'original'),
    EVENTSTORE_BACKUP_COMMAND: command,
  })
const restore = (url: string, to: string, database = databases[1]) =>
  commandHere(
    [
      'backup',
      'restore',
      '--from',
      join(folder, 'place'),
      '--to',
      join(folder, to),
      '--json',
      '--accept-lost-erasures',
    ],
    { ...settingsOf(url, database), ...backupKeys },
  )

async function start(name: string, url: string, database: FreshDatabases | undefined): Promise<PlatformProcess> {
  const started = await startPlatformProcess(join(folder, name), { ...fastSettings, ...settingsOf(url, database) })
  closing.push(() => started.stop())
  return started
}

async function apiOf(platform: PlatformProcess): Promise<ApiClient> {
  const baseUrl = platform.credentials.base_url
  return createApiClient(baseUrl, textAt((await requestToken(baseUrl, clientOf(platform, 0))).body, 'access_token'))
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'own-event-store-'))
  await mkdir(join(folder, 'copies'))
  node = await hostedEventStore()
  closing.push(() => node.stop())
  databases = await Promise.all([freshDatabases(), freshDatabases(), freshDatabases()])
  const original = await start('original', node.url, databases[0])
  patientId = await registerPatient(await apiOf(original), { family_name: 'Zaphkielle' })
})
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
  await Promise.all(databases.map((each) => each.drop()))
  await rm(folder, { recursive: true, force: true })
})

test('without a command that copies the event store, or if it fails, there is no backup', async () => {
  expect(await create('')).toMatchObject({
    code: 2,
    err: expect.stringContaining('EVENTSTORE_BACKUP_COMMAND must copy it'),
  })
  expect(await create('echo the disk is full >&2; exit 3')).toMatchObject({
    code: 2,
    err: expect.stringContaining('EVENTSTORE_BACKUP_COMMAND ended with code 3: the disk is full'),
  })
  const listed = await commandHere(['backup', 'list', '--from', join(folder, 'place')], backupKeys)
  expect(listed).toMatchObject({ code: 0, out: 'There is no backup.\n' })
})

test('the command copies the event store, and a restore takes its copy', async () => {
  const created = await create(`cp -a "${node.dataDir}" "${folder}/copies/$BACKUP_ID" && echo $BACKUP_POSITION`)
  expect(created).toMatchObject({ code: 0, err: '' })
  const backup: unknown = JSON.parse(created.out)
  expect(backup).toMatchObject({ events: null, faults: [], position: expect.stringMatching(/^\d+\/\d+$/) })

  const withoutStore = await restore('', 'copy')
  expect([withoutStore.code, withoutStore.err]).toEqual([2, expect.stringContaining('ESDB_URL must lead to the event')])
  const empty = await hostedEventStore()
  closing.push(() => empty.stop())
  const tooOld = await restore(empty.url, 'copy')
  expect([tooOld.code, tooOld.err]).toEqual([2, expect.stringContaining(`before the position of the backup`)])

  const foreign = await hostedEventStore()
  closing.push(() => foreign.stop())
  const client = EventStoreDBClient.connectionString(foreign.url)
  for (const id of [1, 2])
    await client.appendToStream('patient-x', jsonEvent({ type: 'Large', data: { id, text: 'x'.repeat(900_000) } }))
  await client.dispose()
  const ofAnother = await restore(foreign.url, 'of-another', databases[2])
  expect([ofAnother.code, ofAnother.err]).toEqual([2, expect.stringContaining('is of another installation')])

  const copy = await startEventStore({ dataDir: join(folder, 'copies', textAt(backup, 'id')) })
  closing.push(() => copy.stop())
  const restored = await restore(copy.url, 'copy')
  expect(restored).toMatchObject({ code: 0 })
  expect(JSON.parse(restored.out)).toMatchObject({ events: null, position: at(backup, 'position') })
  const platform = await start('copy', copy.url, databases[1])
  const found = await (await apiOf(platform)).call(`/v1/clinical-api/patients/${patientId}`)
  expect([found.status, textAt(found.body, 'family_name')]).toEqual([200, 'Zaphkielle'])
  const health = await (await fetch(`${platform.credentials.base_url}/health`)).json()
  expect(JSON.stringify(health)).toContain('restored from a backup: no other system is called')
})
