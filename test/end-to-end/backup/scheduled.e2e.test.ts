import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listBackups } from '../../../app/backup/list.ts'
import { startPlatformProcess, type PlatformProcess } from '../../../app/demo/platform-process.ts'
import { at } from '../../../app/demo/members.ts'
import { readBackupKeys } from '../../../platform/backup/backup-keys.ts'
import { folderPlace } from '../../../platform/backup/folder-place.ts'
import { newKeysText } from '../../platform/backup/planted-place.ts'
import { waitFor } from '../../support/platform.ts'
import { freshDatabases, type FreshDatabases } from '../../support/postgres.ts'
import { noServers } from './backup-command.ts'

const keys = newKeysText('backup-1')
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
    BACKUP_SCHEDULE: '* * * * * *',
    BACKUP_KEYS: keys,
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
