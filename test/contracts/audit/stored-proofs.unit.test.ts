import { expect, test } from 'vitest'
import { IndexBlock } from '../../../contracts/audit/event-index.ts'
import { blockLeaves, blockPath } from '../../../contracts/audit/log-objects.ts'
import { encodeRecord } from '../../../contracts/audit/log-record.ts'
import { isSealedStream } from '../../../contracts/audit/sealed-events.ts'
import { openSealedLog } from '../../../contracts/audit/sealed-log.ts'
import { formatPosition } from '../../../platform/kit/positions.ts'
import { checkProof } from '../../../platform/transparency-log/check-proof.ts'
import { formatNote } from '../../../platform/transparency-log/signed-note.ts'
import { event, newKey, plantLog } from '../../app/audit/planted-log.ts'

const log = newKey('log.example/x')
const count = 2 * blockLeaves + 300
const planted = plantLog({ events: count, every: count, log })
const events = planted.events.filter(({ stream }) => isSealedStream(stream))
const objects = new Map([...planted.tiles].map(([path, bytes]) => [`log/${path}`, bytes]))
for (let first = 0; first < count; first += blockLeaves) {
  const block = new IndexBlock(0)
  for (const { id, position } of events.slice(first, first + blockLeaves)) block.add(id, position)
  objects.set(`log/${blockPath(first / blockLeaves, block.leaves)}`, block.stored())
}
const reads: string[] = []
const sealedLog = openSealedLog({
  store: {
    readStoredLog() {
      throw new Error('the log is read')
    },
    isSigned: () => true,
  },
  vault: {
    record: async () => ({
      wrapped: Buffer.alloc(0),
      bytes: encodeRecord({
        generation: 1,
        origin: log.key.name,
        checkpoint: formatNote(planted.sealed.checkpoint.note),
        position: formatPosition(planted.sealed.position),
        cosigned: null,
        keys: [1],
        unlogged: [],
      }),
    }),
    sealKeys: async () => [],
  },
  objects: {
    async read(key) {
      const bytes = objects.get(key)
      if (bytes === undefined) return undefined
      reads.push(key)
      return {
        bytes: bytes.length,
        etag: key,
        chunks: (async function* () {
          yield bytes
        })(),
      }
    },
  },
})

test('proves events whose bytes are known, in every block of the index, and reads neither log nor whole index', async () => {
  const leaves = [0, 255, 256, blockLeaves - 1, blockLeaves, 2 * blockLeaves - 1, 2 * blockLeaves, count - 1]
  for (const leaf of leaves) {
    const [one] = events.slice(leaf, leaf + 1)
    if (one === undefined) throw new Error('no event')
    reads.length = 0
    const proofs = await sealedLog.proofsOf([one, one])
    if (proofs === 'not-sealed') throw new Error('not sealed')
    expect(proofs.map((proof) => checkProof(proof, { log: [log.key], witnesses: [] }))).toMatchObject(
      Array.from({ length: 2 }, () => ({ index: leaf, entry: { id: one.id } })),
    )
    expect(new Set(reads).size).toBe(reads.length)
  }
})

test('proves nothing of an event that came later, or that differs from the sealed one', async () => {
  const [first, last] = [events[0], event('consent-1', 900_000, count + 50)]
  if (first === undefined) throw new Error('no event')
  expect(await sealedLog.proofsOf([first, last])).toBe('not-sealed')
  await expect(sealedLog.proofsOf([{ ...first, dataBytes: Buffer.from('{}') }])).rejects.toThrow(
    `the sealed log does not have event ${first.id}`,
  )
})
