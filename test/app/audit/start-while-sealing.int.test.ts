import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { requireSealedLog, type CheckedServers } from '../../../app/audit/log-went-back.ts'
import { startWitness } from '../../../app/witness/start-witness.ts'
import { logKeys } from '../../../contracts/audit/log-keys.ts'
import { tileReader } from '../../../contracts/audit/log-objects.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { formatVkey } from '../../../platform/transparency-log/signed-note.ts'
import { TileTree } from '../../../platform/transparency-log/tiles.ts'
import { Witness } from '../../../processes/adapters/witness.ts'
import { openSealingWorld, origin } from '../../processes/sealing/sealing-world.ts'

test('a start accepts a log that another process seals meanwhile, and brings to its witness', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'start-while-sealing-'))
  const world = await openSealingWorld()
  await world.write(3)
  await world.sealAll()
  const witness = await startWitness(
    { dataDir: folder, logs: (await logKeys(world.vault, origin)).map(formatVkey), port: 0, name: 'w.example' },
    { host: '127.0.0.1', logger: createLogger({ level: 'silent' }), now: () => new Date() },
  )
  const configuration = loadConfiguration({ WITNESSES: `${witness.address} ${witness.vkey}` })
  const egress = createEgress({ configuration })
  const [address] = configuration.witnesses
  if (address === undefined) throw new Error('no witness')
  const asked = new Witness(egress, address)
  const sizes: number[] = []

  async function sealElsewhere(): Promise<void> {
    await world.write(1)
    const { checkpoint } = await world.sealAll()
    if (checkpoint === undefined) throw new Error('nothing is sealed')
    const tree = new TileTree(checkpoint.size, tileReader(world.objects, 1))
    await asked.sign(checkpoint, (from) => tree.consistencyProof(from), new AbortController().signal)
    sizes.push(checkpoint.size)
  }

  // Each time that the start has read the newest seal, there is a newer one.
  const store: CheckedServers['store'] = {
    head: (filter) => world.store.head(filter),
    readStoredLog: (start) => world.store.readStoredLog(start),
    async load(target) {
      const loaded = await world.store.load(target)
      await sealElsewhere()
      return loaded
    },
  }
  const { vault, objects } = world
  await requireSealedLog({ configuration, store, vault, objects, egress })
  expect(sizes.length).toBeGreaterThan(0)
  await egress.close()
  await witness.stop()
  await world.close()
  await rm(folder, { recursive: true, force: true })
})
