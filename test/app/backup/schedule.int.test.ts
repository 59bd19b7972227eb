import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backupAgeCheck, requireBackupSettings, startScheduledBackups } from '../../../app/backup/schedule.ts'
import { listBackups } from '../../../app/backup/list.ts'
import { startPlatformProcess, type PlatformProcess } from '../../../app/demo/platform-process.ts'
import { at } from '../../../app/demo/members.ts'
import { readBackupKeys } from '../../../platform/backup/backup-keys.ts'
import { folderPlace } from '../../../platform/backup/folder-place.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import type { BackupState } from '../../../streams/backups/aggregate.ts'
import { noServers } from '../../end-to-end/backup/backup-command.ts'
import { newKeysText } from '../../platform/backup/planted-place.ts'
import { eventually } from '../../support/eventually.ts'
import { waitFor } from '../../support/platform.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'

const keys = newKeysText('backup-1')
const scheduled = { BACKUP_SCHEDULE: '* * * * * *', BACKUP_TO: 'place', BACKUP_KEYS: keys }
let folder: string
let database: FreshDatabases
let platform: PlatformProcess

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'scheduled-'))
  database = await freshDatabases()
  platform = await startPlatformProcess(join(folder, 'data'), {
    ...noServers,
    DATABASE_URL: database.url,
    VAULT_DATABASE_URL: database.vaultUrl,
    ...scheduled,
    BACKUP_TO: join(folder, 'place'),
  })
})
afterAll(async () => {
  expect(await platform.stop()).toBe(0)
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

test('backups are made by the schedule, and health knows of them', async () => {
  const place = folderPlace(join(folder, 'place'))
  await waitFor('a verified backup', async () => {
    const { backups } = await listBackups(place, readBackupKeys(keys))
    return backups.find((each) => each.verified_at !== null)
  })
  await waitFor('the check of backups', async () => {
    const checks = at(await (await fetch(`${platform.credentials.base_url}/health`)).json(), 'checks')
    const check: unknown = Array.isArray(checks) ? checks.find((each) => at(each, 'name') === 'backups') : undefined
    return at(check, 'status') === 'ok' ? true : undefined
  })
})

test('the log has the reason of a backup that was not created, or the end of a long one', async () => {
  const lines: string[] = []
  const logger = createLogger({ level: 'error', destination: { write: (line) => void lines.push(line) } })
  // The reason names it.
  const dataDir = join(folder, ...Array.from({ length: 4 }, () => 'x'.repeat(200)))
  const backups = startScheduledBackups({
    settings: loadConfiguration({ ...scheduled, PLATFORM_DATA_DIR: dataDir }),
    env: { ...process.env, ...noServers, ...scheduled },
    store: { load: async () => Object({ state: { newestAt: null, held: null } }) },
    logger,
  })
  try {
    await eventually(() => expect(lines.join('')).toContain('a backup was not created'))
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ reason: expect.stringContaining('(PLATFORM_DATA_DIR)') })
  } finally {
    await backups.close()
  }
})

test.each([
  [{ ...scheduled, BACKUP_TO: '' }, 'BACKUP_TO must be set'],
  [{ ...scheduled, BACKUP_KEYS: '' }, 'BACKUP_KEYS must be set'],
  [{ ...scheduled, BACKUP_SCHEDULE: 'daily' }, 'BACKUP_SCHEDULE must be a cron expression'],
  [
    { ...scheduled, ESDB_URL: 'esdb://127.0.0.1:2113?tls=false' },
    'BACKUP_SCHEDULE with ESDB_URL needs EVENTSTORE_BACKUP_COMMAND',
  ],
])('settings %j are refused', (env, reason) => {
  expect(() => requireBackupSettings(loadConfiguration(env))).toThrow(reason)
})

test('the newest verified backup may be as old as the setting says', async () => {
  const day = Date.parse('2026-11-28T00:00:00.000Z')
  const statusAfter = async (newestAt: string | null, hours: number, settings: Readonly<Record<string, string>>) => {
    const state: BackupState = { newestAt, held: null }
    const load = async () => ({ state, revision: 0n, position: undefined })
    const now = () => new Date(day + hours * 3_600_000)
    // One function cannot have the state of every stream.
    const store: Parameters<typeof backupAgeCheck>[1] = Object.assign(Object.create(null), { load })
    return (await backupAgeCheck(loadConfiguration(settings), store, now)?.run())?.status
  }
  const newest = new Date(day).toISOString()
  expect(await statusAfter(newest, 5, { BACKUP_MAX_AGE_HOURS: '5' })).toBe('ok')
  expect(await statusAfter(newest, 5.001, { BACKUP_MAX_AGE_HOURS: '5' })).toBe('warning')
  expect(await statusAfter(newest, 26, scheduled)).toBe('ok')
  expect(await statusAfter(newest, 27, scheduled)).toBe('warning')
  expect(await statusAfter(null, 0, scheduled)).toBe('warning')
  expect(await statusAfter(null, 0, {})).toBeUndefined()
})
