import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { storeSources } from '../../../app/backup/sources.ts'
import { readBackupKeys } from '../../../platform/backup/backup-keys.ts'
import { ChunkStore } from '../../../platform/backup/chunks.ts'
import { folderPlace } from '../../../platform/backup/folder-place.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'
import { connectObjectStore } from '../../../platform/storage/object-store.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault } from '../../../platform/vault/vault.ts'
import { exportPrefix } from '../../../processes/audit/export-runs.ts'
import { hostedObjectStore } from '../../support/hosted-stand-ins.ts'
import { freshVault } from '../../support/postgres.ts'

test('a backup has the objects of the store without the exports', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sources-'))
  const database = await freshVault()
  const masterKeys = parseMasterKeys(`test:${randomBytes(32).toString('base64')}`)
  await (await openVault({ url: database.url, masterKeys })).close()
  const bucket = { bucket: 'images', accessKeyId: 'test-key', secretAccessKey: 'test-secret' }
  const server = await hostedObjectStore(bucket)
  const objects = connectObjectStore({
    endpoint: server.endpoint,
    region: 'eu-central-1',
    ...bucket,
    now: () => new Date(),
  })
  try {
    const order = { tenant: tenantOfFact(randomUUID()), exportId: randomUUID(), patientId: randomUUID() }
    await objects.put(`${exportPrefix(order)}${randomUUID()}.zip`, Buffer.from('an export'), 'application/zip')
    await objects.put('images/one', Buffer.from('an image'), 'image/jpeg')

    const keys = readBackupKeys(`test:${randomBytes(32).toString('base64')}`)
    const chunks = new ChunkStore(folderPlace(join(folder, 'place')), keys.newest)
    const sources = { eventStore: { segments: [] }, vaultUrl: database.url, objects, dataDir: folder }
    const found: string[] = []
    for await (const { kind, name } of storeSources(sources, chunks)) if (kind === 'object') found.push(name)
    expect(found).toEqual(['images/one'])
  } finally {
    objects.close()
    await server.stop()
    await database.drop()
    await rm(folder, { recursive: true, force: true })
  }
})
