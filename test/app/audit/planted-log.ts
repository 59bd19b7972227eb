import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { v5 } from 'uuid'
import { sealOfStored } from '../../../app/audit/stored-seals.ts'
import { verifyLog, type Verification, type WitnessToAsk } from '../../../app/audit/verify-log.ts'
import { isSealedStream } from '../../../contracts/audit/sealed-events.ts'
import type { StoredBytes } from '../../../engine/store/log-frames.ts'
import { createSigner } from '../../../engine/store/signature.ts'
import { formatPosition, type Position } from '../../../platform/kit/positions.ts'
import {
  checkpointText,
  parseCheckpoint,
  type SignedCheckpoint,
} from '../../../platform/transparency-log/checkpoint.ts'
import { cosign, withCosignatures } from '../../../platform/transparency-log/cosignature.ts'
import { entryOf } from '../../../platform/transparency-log/event-entry.ts'
import { GrowingTree } from '../../../platform/transparency-log/growing-tree.ts'
import { leafHash } from '../../../platform/transparency-log/merkle.ts'
import {
  formatNote,
  signNote,
  verifierKey,
  type SignatureType,
  type VerifierKey,
} from '../../../platform/transparency-log/signed-note.ts'
import { TileError, tilePath } from '../../../platform/transparency-log/tiles.ts'

export interface PlantedKey {
  readonly key: VerifierKey
  readonly privateKey: KeyObject
}

export function newKey(name: string, type: SignatureType = 1): PlantedKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return { key: verifierKey(name, type, publicKey.export({ type: 'spki', format: 'der' }).subarray(-32)), privateKey }
}

const signer = createSigner(createSecretKey(Buffer.alloc(32, 7)))
const namespace = '3f2b1c60-9d1e-4c3a-8f55-0b7a54f0a001'

/** A log in memory with its tiles and seals. A copy can be manipulated and verified. */
export interface PlantedLog {
  readonly events: StoredBytes[]
  readonly tiles: Map<string, Buffer>
  readonly sealed: { readonly checkpoint: SignedCheckpoint; readonly position: Position }
}

interface Recipe {
  readonly events: number
  /** A seal after so many events. */
  readonly every: number
  readonly log: PlantedKey
  readonly witness?: PlantedKey
  /** Changes the content of events, as a log that was written otherwise. */
  readonly salt?: string
  /** The first of these events. Default 0. */
  readonly saltedFrom?: number
}

export function event(
  stream: string,
  revision: number,
  order: number,
  {
    type = 'ConsentRecorded',
    content = '',
    isUnsigned = false,
  }: { type?: string; content?: string; isUnsigned?: boolean } = {},
): StoredBytes {
  const place = { id: v5(`${stream} ${revision}`, namespace), stream, revision: BigInt(revision), type }
  const data = content === '' ? JSON.stringify({ stream, revision }) : content
  const metadata = signer.sign(place, data, '{"commandId":"c","schemaVersion":1}')
  const position = { commit: BigInt(order) * 100n, prepare: BigInt(order) * 100n }
  const metadataBytes = Buffer.from(isUnsigned ? '{}' : metadata)
  return { ...place, position, created: new Date(order), dataBytes: Buffer.from(data), metadataBytes }
}

/** Events of consents, a channel and a foreign channel, sealed from time to time. */
export function plantLog({ events: count, every, log, witness, salt = '', saltedFrom = 0 }: Recipe): PlantedLog {
  const events: StoredBytes[] = []
  const tiles = new Map<string, Buffer>()
  const revisions = new Map<string, number>()
  const tree = GrowingTree.empty()
  let sealed: PlantedLog['sealed'] | undefined
  const append = (stream: string, more: Parameters<typeof event>[3] = {}): StoredBytes => {
    const revision = revisions.get(stream) ?? 0
    revisions.set(stream, revision + 1)
    const made = event(stream, revision, events.length + 1, more)
    events.push(made)
    return made
  }
  for (let at = 0; at < count; at += 1) {
    const kind = at % 10
    const more = salt === '' || at < saltedFrom ? {} : { content: JSON.stringify({ salt, at }) }
    const made =
      kind === 7
        ? append('consent.events', { ...more, type: 'consent.granted' })
        : kind === 8
          ? append('lab.events', { type: 'Measured', isUnsigned: true })
          : append(`consent-${at % 23}`, more)
    for (const tile of tree.add(leafHash(entryOf(made)))) tiles.set(tilePath(tile), tile.bytes)
    if ((at + 1) % every !== 0 && at + 1 !== count) continue
    for (const tile of tree.partial()) tiles.set(tilePath(tile), tile.bytes)
    const checkpoint = signed(tree, log)
    const position = made.position
    const note = formatNote(checkpoint.note)
    const data = { size: tree.size, root: checkpoint.root.toString('base64'), position: formatPosition(position) }
    append('log_seals', { type: 'LogSealed', content: JSON.stringify({ ...data, checkpoint: note }) })
    if (witness !== undefined) {
      const line = cosign(checkpoint, witness.key, witness.privateKey, 1_800_000_000)
      const cosigned = formatNote(withCosignatures(checkpoint, [line]).note)
      append('log_seals', { type: 'LogCosigned', content: JSON.stringify({ size: tree.size, checkpoint: cosigned }) })
    }
    sealed = { checkpoint, position }
  }
  if (sealed === undefined) throw new Error('a log without events')
  return { events, tiles, sealed }
}

export function signed(tree: Pick<GrowingTree, 'size' | 'root'>, { key, privateKey }: PlantedKey): SignedCheckpoint {
  const text = checkpointText({ origin: key.name, size: tree.size, root: tree.root() })
  return parseCheckpoint(formatNote({ text, signatures: [signNote(text, key, privateKey)] }))
}

export function copyOf({ events, tiles, sealed }: PlantedLog): PlantedLog {
  return { events: [...events], tiles: new Map([...tiles].map(([path, bytes]) => [path, Buffer.from(bytes)])), sealed }
}

interface Verifying {
  readonly keys: readonly VerifierKey[]
  readonly witnesses?: readonly WitnessToAsk[]
  readonly from?: number
}

export function verify(log: PlantedLog, { keys, witnesses = [], from = 0 }: Verifying): Promise<Verification> {
  const { events, tiles, sealed } = log
  const isSigned = (stored: StoredBytes): boolean => signer.isSigned(stored, stored.dataBytes, stored.metadataBytes)
  const sealedEvents = events.filter(({ stream }) => isSealedStream(stream))
  const after = from === 0 ? 0 : events.findIndex((stored) => stored === sealedEvents[from - 1]) + 1
  async function* all(): AsyncGenerator<StoredBytes> {
    yield* events.slice(after)
  }
  async function* seals() {
    for (const stored of events) if (stored.stream === 'log_seals') yield sealOfStored(stored, isSigned(stored))
  }
  return verifyLog({
    events: all,
    seals: seals(),
    readTile: async (tile) => {
      const bytes =
        tiles.get(tilePath(tile)) ?? tiles.get(tilePath({ ...tile, width: 256 }))?.subarray(0, tile.width * 32)
      if (bytes === undefined) throw new TileError(tile)
      return bytes
    },
    generation: 1,
    sealed,
    from,
    keys,
    witnesses,
    isSigned,
    isOwn: (stream) => stream !== 'lab.events',
    mayLoseEvents: (stream) => stream.endsWith('.events'),
  })
}
