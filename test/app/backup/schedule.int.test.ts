import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backupAgeCheck, requireBackupSettings, startScheduledBackups } from '../../../app/backup/schedule.ts'
import { at } from '../../../app/demo/members.ts'
import { readBackupKeys } from '../../../platform/backup/backup-keys.ts'
import { folderPlace } from '../../../platform/backup/folder-place.ts'
import { claimPlace } from '../../../platform/backup/manifests.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import type { BackupState } from '../../../streams/backups/aggregate.ts'
import { noServers } from '../../end-to-end/backup/backup-command.ts'
import { newKeysText } from '../../platform/backup/planted-place.ts'
import { eventually } from '../../support/eventually.ts'

const keys = newKeysText('backup-1')
const scheduled = { BACKUP_SCHEDULE: '* * * * * *', BACKUP_TO: 'place', BACKUP_KEYS: keys }

test('the log has the reason of a backup that was not created, or the end of a long one', async () => {
  const lines: string[] = []
  const logger = createLogger({ level: 'error', destination: { write: (line) => void lines.push(line) } })
  // The reason names it.
  const dataDir = join(tmpdir(), ...Array.from({ length: 4 }, () => 'x'.repeat(200)))
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

test('no backup is made in a place without backups if there were some before, as in a folder whose disk is gone', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'unmounted-'))
  const lines: string[] = []
  const logger = createLogger({ level: 'error', destination: { write: (line) => void lines.push(line) } })
  const env = { ...scheduled, BACKUP_TO: folder, PLATFORM_DATA_DIR: join(folder, 'data') }
  const backups = startScheduledBackups({
    settings: loadConfiguration(env),
    env: { ...process.env, ...noServers, ...env },
    store: { load: async () => Object({ state: { newestAt: '2026-11-28T00:00:00.000Z', held: null } }) },
    logger,
  })
  try {
    const reason = () => String(at(JSON.parse(lines[0] ?? '{}'), 'reason'))
    await eventually(() => expect(reason()).toContain('is its disk mounted?'))
    lines.length = 0
    await claimPlace(folderPlace(folder), readBackupKeys(keys), 'this one')
    await eventually(() => expect(reason()).toContain('(PLATFORM_DATA_DIR)'))
  } finally {
    await backups.close()
    await rm(folder, { recursive: true })
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
  // Made by a clock that was ahead: nobody knows its age.
  expect(await statusAfter(newest, -2, scheduled)).toBe('warning')
  expect(await statusAfter(newest, -0.5, scheduled)).toBe('ok')
  expect(await statusAfter(null, 0, scheduled)).toBe('warning')
  expect(await statusAfter(null, 0, {})).toBeUndefined()
})
