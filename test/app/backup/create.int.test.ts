import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createOf } from '../../../app/backup/create.ts'
import { folderPlace } from '../../../platform/backup/folder-place.ts'
import { backupIds, verifiedAt } from '../../../platform/backup/manifests.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { connectObjectStore, type ObjectStore } from '../../../platform/storage/object-store.ts'
import { observed, openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { newKeys } from '../../platform/backup/planted-place.ts'
import { hostedObjectStore } from '../../support/hosted-stand-ins.ts'

const bucket = { bucket: 'images', accessKeyId: 'test-key', secretAccessKey: 'test-secret' }
let folder: string
let world: DecisionWorld
let server: Awaited<ReturnType<typeof hostedObjectStore>>
let objects: ObjectStore

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'create-'))
  ;[world, server] = await Promise.all([openDecisionWorld(), hostedObjectStore(bucket)])
  objects = connectObjectStore({ endpoint: server.endpoint, region: 'us-east-1', ...bucket, now: () => new Date() })
})
afterAll(async () => {
  objects.close()
  await Promise.all([world.close(), server.stop(), rm(folder, { recursive: true, force: true })])
})

test('a backup is there and verified also if the event store takes no record of it', async () => {
  const configuration = {
    ...loadConfiguration({ PLATFORM_DATA_DIR: join(folder, 'data') }),
    esdbUrl: world.url,
    vaultDatabaseUrl: world.vaultUrl,
    eventstoreBackupCommand: 'true',
  }
  const store = observed(world.store, (name) => {
    if (name === 'append') throw new Error('the disk is full')
  })
  const [place, keys, said] = [folderPlace(join(folder, 'place')), newKeys('k'), new Array<string>()]
  const say = (line: string) => void said.push(line)
  const created = await createOf({ configuration, store, vault: world.vault, objects }, { place, keys, say })
  expect(created).toMatchObject({ faults: [], verified_at: expect.any(String) })
  expect(await backupIds(place)).toEqual([created.id])
  expect(await verifiedAt(place, keys, created.id)).toBe(created.verified_at)
  expect(said).toEqual([`the log has no record of backup ${created.id}: the disk is full`])
})
