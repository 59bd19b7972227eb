import type { EventStore } from '../../engine/store/event-store.ts'
import type { StoredBytes } from '../../engine/store/log-frames.ts'
import { jsonOf } from '../../platform/kit/json-reading.ts'
import { comparePositions } from '../../platform/kit/positions.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { createTurns } from '../../platform/kit/turns.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { parseCheckpoint, type SignedCheckpoint } from '../../platform/transparency-log/checkpoint.ts'
import { entryOf } from '../../platform/transparency-log/event-entry.ts'
import { formatProof } from '../../platform/transparency-log/log-proof.ts'
import { leafHash, type Hash } from '../../platform/transparency-log/merkle.ts'
import { formatNote, formatVkey } from '../../platform/transparency-log/signed-note.ts'
import {
  entryBundle,
  tileAt,
  tilePath,
  TileError,
  TileTree,
  tileWidth,
  type ReadTile,
  type Tile,
} from '../../platform/transparency-log/tiles.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { leavesIn, positionIn, readBlock } from './event-index.ts'
import { logKeys } from './log-keys.ts'
import { blockLeaves, tileReader } from './log-objects.ts'
import { decodeRecord, sealedPartOf, type LogRecord } from './log-record.ts'
import { concernsTenant } from './event-owner.ts'
import { isSealedStream } from './sealed-events.ts'

export interface SealedLogServers {
  readonly store: Pick<EventStore, 'readStoredLog' | 'isSigned'>
  readonly vault: Pick<Vault, 'record' | 'sealKeys'>
  readonly objects: Pick<ObjectStore, 'read'>
}

/** The sealed log for readers. Null: there is nothing, or nothing that the reader may see. */
export interface SealedLog {
  /** The newest checkpoint, with the signatures of witnesses if enough have signed it. */
  checkpoint(): Promise<string | null>
  /** The keys of all logs, newest first, one a line. */
  keys(): Promise<string | null>
  tile(tile: Tile): Promise<Buffer | null>
  /** The proof of an event. `tenant` null sees every event. */
  proof(eventId: string, tenant: TenantId | null): Promise<{ readonly text: string } | 'not-sealed' | null>
  /** The proof of each event, whose stored bytes the caller has. All are sealed, or `not-sealed`. */
  proofsOf(events: readonly StoredBytes[]): Promise<readonly string[] | 'not-sealed'>
  /** Null if the log is smaller than `to`. */
  consistency(from: number, to: number): Promise<readonly Hash[] | null>
}

/** Blocks of the index that are read at once. */
const blocksAtOnce = 4
/** Searches for an event by its id at a time. Each may read the whole index, of 400 KB a block. The others wait. */
const searchesAtOnce = 4
/** Events behind the newest seal that are searched for one that is not sealed yet. */
const mostUnsealed = 50_000

/** A bundle writes the length of an entry in two bytes. Only streams with very long names have longer ones. */
const mostEntryBytes = 65_535

interface Opened {
  readonly record: LogRecord
  readonly newest: SignedCheckpoint
  /** Reads any tile of the newest tree, also as narrow as an earlier tree had it. */
  readonly readTile: ReadTile
}

export function openSealedLog({ store, vault, objects }: SealedLogServers): SealedLog {
  async function open(): Promise<Opened | null> {
    const kept = await vault.record('sealed-log')
    if (kept === undefined) return null
    const record = decodeRecord(kept.bytes)
    const { checkpoint: newest } = sealedPartOf(record)
    if (newest === undefined) return null
    const read = tileReader(objects, record.generation)
    const readTile: ReadTile = async (tile) => {
      const widest = tile.level === 'entries' ? undefined : tileAt(tile.level, tile.index, newest.size)
      if (widest === undefined || widest.width < tile.width) throw new TileError(tile)
      return (await read(widest)).subarray(0, tile.width * 32)
    }
    return { record, newest, readTile }
  }

  function cosignedOf({ record }: Opened): SignedCheckpoint | undefined {
    return record.cosigned === null ? undefined : parseCheckpoint(record.cosigned)
  }

  function blockOf({ record: { generation }, newest: { size } }: Opened, block: number): Promise<Buffer | undefined> {
    return readBlock({ objects, vault }, { generation, size }, block)
  }

  /** The sealed events from the first one of a tile on. */
  async function* eventsFrom(opened: Opened, tile: number): AsyncGenerator<StoredBytes> {
    const leaf = tile * tileWidth
    const block = await blockOf(opened, Math.floor(leaf / blockLeaves))
    if (block === undefined) return
    for await (const event of store.readStoredLog({ at: positionIn(block, leaf) }))
      if (isSealedStream(event.stream)) yield event
  }

  const searches = createTurns(searchesAtOnce)

  async function leafOf(opened: Opened, eventId: string): Promise<{ leaf: number; event: StoredBytes } | undefined> {
    const blocks = Math.ceil(opened.newest.size / blockLeaves)
    for (let end = blocks; end > 0; end -= blocksAtOnce) {
      const from = Math.max(end - blocksAtOnce, 0)
      const numbers = Array.from({ length: end - from }, (_, at) => end - 1 - at)
      const read = await Promise.all(numbers.map((number) => blockOf(opened, number)))
      for (const [at, block] of read.entries()) {
        const first = (numbers[at] ?? 0) * blockLeaves
        for (const leaf of block === undefined ? [] : leavesIn(block, eventId)) {
          const event = await eventAt(opened, first + leaf, eventId)
          if (event !== undefined) return { leaf: first + leaf, event }
        }
      }
    }
    return undefined
  }

  /** The place of an event whose position is known: no scan of the index. Undefined if it is not sealed yet. */
  async function leafOfStored(
    { newest, readTile }: Opened,
    { id, position, ...event }: StoredBytes,
    block: (number: number) => Promise<Buffer>,
  ): Promise<number | undefined> {
    const entry = leafHash(entryOf({ ...event, id }))
    let [first, last] = [0, Math.ceil(newest.size / blockLeaves) - 1]
    while (first < last) {
      const middle = Math.ceil((first + last) / 2)
      const isBehind = comparePositions(positionIn(await block(middle), middle * blockLeaves), position) > 0
      if (isBehind) last = middle - 1
      else first = middle
    }
    const tree = new TileTree(newest.size, readTile)
    for (const leaf of leavesIn(await block(first), id))
      if (entry.equals(await tree.leaf(first * blockLeaves + leaf))) return first * blockLeaves + leaf
    return undefined
  }

  async function eventAt(opened: Opened, leaf: number, eventId: string): Promise<StoredBytes | undefined> {
    let left = tileWidth
    for await (const event of eventsFrom(opened, Math.floor(leaf / tileWidth))) {
      if (event.id === eventId) return event
      left -= 1
      if (left === 0) return undefined
    }
    return undefined
  }

  async function isUnsealed(opened: Opened | null, eventId: string, tenant: TenantId | null): Promise<boolean> {
    const after = sealedPartOf(opened?.record ?? { checkpoint: null, position: null }).position
    let left = mostUnsealed
    for await (const event of store.readStoredLog({ after })) {
      if (event.id === eventId && isSealedStream(event.stream)) return isVisible(event, tenant)
      left -= 1
      if (left === 0) return false
    }
    return false
  }

  async function isVisible(event: StoredBytes, tenant: TenantId | null): Promise<boolean> {
    if (tenant === null) return true
    const [data, metadata] = [event.dataBytes, event.metadataBytes].map((bytes) =>
      jsonOf(Buffer.from(bytes).toString()),
    )
    return (await store.isSigned(event)) && concernsTenant(event.stream, data, metadata, tenant)
  }

  async function entries(opened: Opened, tile: Tile): Promise<Buffer | null> {
    const first = tile.index * tileWidth
    if (first + tile.width > opened.newest.size) return null
    const tree = new TileTree(opened.newest.size, opened.readTile)
    const found: Buffer[] = []
    for await (const event of eventsFrom(opened, tile.index)) {
      const entry = entryOf(event)
      // A dropped event leaves a bundle that nobody can make.
      if (entry.length > mostEntryBytes || !leafHash(entry).equals(await tree.leaf(first + found.length))) return null
      found.push(entry)
      if (found.length === tile.width) return entryBundle(found)
    }
    return null
  }

  return {
    async checkpoint() {
      const opened = await open()
      if (opened === null) return null
      const cosigned = cosignedOf(opened)
      return formatNote((cosigned?.size === opened.newest.size ? cosigned : opened.newest).note)
    },
    async keys() {
      const kept = await vault.record('sealed-log')
      const keys = kept === undefined ? [] : await logKeys(vault, decodeRecord(kept.bytes).origin)
      return keys.length === 0 ? null : keys.map((key) => `${formatVkey(key)}\n`).join('')
    },
    async tile(tile) {
      const opened = await open()
      if (opened === null) return null
      try {
        return tile.level === 'entries' ? await entries(opened, tile) : Buffer.from(await opened.readTile(tile))
      } catch (error) {
        if (error instanceof TileError) return null
        throw error
      }
    },
    async proof(eventId, tenant) {
      const opened = await open()
      const found = opened === null ? undefined : await searches.run(() => leafOf(opened, eventId))
      if (opened === null || found === undefined)
        return (await isUnsealed(opened, eventId, tenant)) ? 'not-sealed' : null
      const { leaf, event } = found
      if (!(await isVisible(event, tenant))) return null
      const cosigned = cosignedOf(opened)
      const checkpoint = cosigned !== undefined && cosigned.size > leaf ? cosigned : opened.newest
      const hashes = await new TileTree(checkpoint.size, opened.readTile).inclusionProof(leaf)
      return { text: formatProof({ extra: entryOf(event), index: leaf, hashes, checkpoint }) }
    },
    async proofsOf(events) {
      const opened = await open()
      if (opened === null) return 'not-sealed'
      const { record, newest } = opened
      const sealed = sealedPartOf(record).position
      if (events.some(({ position }) => comparePositions(position, sealed) > 0)) return 'not-sealed'
      const block = remembered(async (number: number) => (await blockOf(opened, number)) ?? Buffer.alloc(0))
      const cosigned = cosignedOf(opened)
      const readTile = remembered(opened.readTile, tilePath)
      const proofs: string[] = []
      for (const event of events) {
        const leaf = await leafOfStored({ ...opened, readTile }, event, block)
        if (leaf === undefined) throw new Error(`the sealed log does not have event ${event.id}`)
        const checkpoint = cosigned !== undefined && cosigned.size > leaf ? cosigned : newest
        const hashes = await new TileTree(checkpoint.size, readTile).inclusionProof(leaf)
        proofs.push(formatProof({ extra: entryOf(event), index: leaf, hashes, checkpoint }))
      }
      return proofs
    },
    async consistency(from, to) {
      const opened = await open()
      if (opened === null || to > opened.newest.size) return null
      return new TileTree(to, opened.readTile).consistencyProof(from)
    },
  }
}

/** Reads each object once. It lives as long as one answer. */
function remembered<Key, Value>(
  read: (key: Key) => Promise<Value>,
  nameOf: (key: Key) => unknown = (key) => key,
): (key: Key) => Promise<Value> {
  const found = new Map<unknown, Promise<Value>>()
  return (key) => {
    const name = nameOf(key)
    const value = found.get(name) ?? read(key)
    found.set(name, value)
    return value
  }
}
