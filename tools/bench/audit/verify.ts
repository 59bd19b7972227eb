import { EventStoreDBClient, START } from '@eventstore/db-client'
import { verifyServers } from '../../../app/audit/verify-command.ts'
import { logKeys } from '../../../contracts/audit/log-keys.ts'
import { bytesOf } from '../../../contracts/audit/log-objects.ts'
import { openSealedLog } from '../../../contracts/audit/sealed-log.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { checkProof } from '../../../platform/transparency-log/check-proof.ts'
import { cosign, withCosignatures } from '../../../platform/transparency-log/cosignature.ts'
import { formatProof, parseProof } from '../../../platform/transparency-log/log-proof.ts'
import { verifierKey } from '../../../platform/transparency-log/signed-note.ts'
import { parseMasterKeys } from '../../../platform/vault/master-keys.ts'
import { openVault } from '../../../platform/vault/vault.ts'
import { generateKeyPairSync } from 'node:crypto'
import type { Benchmark } from '../harness/benchmark.ts'
import { atMost, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { writeMainJobs } from '../projections/log.ts'
import { startWorld } from '../projections/world.ts'
import { sealAll, startBenchObjects } from './sealed-world.ts'

const mostProofBytes = 2_048
const mostCheckMs = 50
const seconds = (since: number): number => (performance.now() - since) / 1_000

/** What an auditor waits for: the whole log, one proof, and what both cost on the disk. */
export const verifyLogBench: Benchmark = {
  name: 'verify-log',
  goals: ['32', '34', '35'],
  about: 'audit verify over a bare readAll; size and check of a proof; bytes of tiles and seals over the log',
  run: async ({ quick, events: asked }, { compare }) => {
    await withScope(async ({ folder, started, atEnd }) => {
      const world = await started(startWorld(folder))
      const { store } = world
      const { objects, ...server } = await startBenchObjects(folder)
      atEnd(() => server.stop())
      const { vaultUrl: url, masterKeys } = world.addresses
      const vault = await openVault({ url, masterKeys: parseMasterKeys(masterKeys) })
      atEnd(() => vault.close())
      const written = await writeMainJobs(store, { events: asked ?? (quick ? 20_000 : 1_000_000) })
      const { bytes } = await sealAll({ store, vault, objects })
      const configuration = loadConfiguration({})
      const egress = createEgress({ configuration, logger: createLogger({ level: 'silent' }) })
      atEnd(() => egress.close())
      const close = async () => undefined
      const servers = { configuration, store, vault, objects, egress, close }

      const verify = async (): Promise<number> => {
        const since = performance.now()
        const order = { isJson: false, from: undefined, key: undefined, witnesses: [] }
        const { size, faults } = await verifyServers(servers, order)
        if (size !== written.events || faults.length > 0) throw new Error('the log was not verified')
        return seconds(since)
      }
      const client = EventStoreDBClient.connectionString(world.addresses.eventStoreUrl)
      atEnd(() => client.dispose())
      const readAll = async (): Promise<number> => {
        const since = performance.now()
        let read = 0
        for await (const { event } of client.readAll({ fromPosition: START }))
          if (event?.streamId.startsWith('$') === false) read += 1
        if (read < written.events) throw new Error('the read is not complete')
        return seconds(since)
      }
      await compare(
        single({
          goalNumber: '32',
          name: `audit verify of ${written.events} events`,
          unit: 's',
          ours: { name: 'audit verify', measure: verify },
          other: { name: 'readAll', measure: readAll },
          goal: atMost(1.5),
        }),
      )

      const proof = await twiceWitnessed(store, vault, objects)
      await compare(
        single({
          goalNumber: '34',
          name: 'a proof without extra, with two cosignatures',
          unit: 'bytes',
          ours: {
            name: 'proof',
            measure: async () => Buffer.byteLength(formatProof({ ...parseProof(proof.text), extra: undefined })),
          },
          other: { name: 'limit', measure: async () => mostProofBytes },
          goal: atMost(1),
        }),
      )
      const check = async (): Promise<number> => {
        const since = performance.now()
        if ('refusal' in checkProof(proof.text, proof.keys)) throw new Error('the proof was refused')
        return performance.now() - since
      }
      await compare(
        single({
          goalNumber: '34',
          name: 'its check',
          unit: 'ms',
          ours: { name: 'check', measure: check },
          other: { name: 'limit', measure: async () => mostCheckMs },
          goal: atMost(1),
        }),
      )
      const stored = await storedBytes(objects)
      let ofSeals = 0
      for await (const { dataBytes, metadataBytes } of store.readUnsigned('log_seals', {
        from: 'start',
        direction: 'forwards',
        limit: 1e9,
      }))
        ofSeals += dataBytes.length + metadataBytes.length
      await compare(
        single({
          goalNumber: '35',
          name: `tiles, index and seals of ${written.events} events`,
          unit: 'bytes',
          ours: { name: 'tiles, index, seals', measure: async () => stored + ofSeals },
          other: { name: 'log', measure: async () => bytes },
          goal: atMost(0.05),
        }),
      )
    })
  },
}

async function storedBytes(objects: Parameters<typeof sealAll>[0]['objects']): Promise<number> {
  let bytes = 0
  for await (const { key } of objects.list('log/')) bytes += (await bytesOf(objects, key))?.length ?? 0
  return bytes
}

/** A proof as two witnesses sign it. */
async function twiceWitnessed(
  store: Parameters<typeof sealAll>[0]['store'],
  vault: Parameters<typeof sealAll>[0]['vault'],
  objects: Parameters<typeof sealAll>[0]['objects'],
) {
  let id = ''
  for await (const event of store.readStoredLog({ after: { commit: 0n, prepare: 0n } })) {
    id = event.id
    break
  }
  const answer = await openSealedLog({ store, vault, objects }).proof(id, null)
  if (answer === null || answer === 'not-sealed') throw new Error('the event has no proof')
  const proof = parseProof(answer.text)
  const witnesses = ['one.example', 'two.example'].map((name) => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const key = verifierKey(`witness.${name}`, 4, publicKey.export({ type: 'spki', format: 'der' }).subarray(-32))
    return { key, line: cosign(proof.checkpoint, key, privateKey, 1_800_000_000) }
  })
  const checkpoint = withCosignatures(
    proof.checkpoint,
    witnesses.map(({ line }) => line),
  )
  const keys = { log: await logKeys(vault, 'bench.example/log'), witnesses: witnesses.map(({ key }) => key) }
  return { text: formatProof({ ...proof, checkpoint }), keys }
}
