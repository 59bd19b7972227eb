import type { KeyObject } from 'node:crypto'
import { v7 } from 'uuid'
import { bytesOfBlock, IndexBlock } from '../../contracts/audit/event-index.ts'
import { logKeyOf } from '../../contracts/audit/log-keys.ts'
import { blockLeaves, blockPath, bytesOf, logFolder, putObject, tileReader } from '../../contracts/audit/log-objects.ts'
import { sealIn } from '../../contracts/audit/log-seals.ts'
import { decodeRecord, encodeRecord, logName, sealedPartOf, type LogRecord } from '../../contracts/audit/log-record.ts'
import type { StoredBytes } from '../../engine/store/log-frames.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { formatPosition, type Position, type StreamRevision } from '../../platform/kit/positions.ts'
import type { Failpoint } from '../../platform/lifecycle/graceful-stop.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { checkpointText, parseCheckpoint, type SignedCheckpoint } from '../../platform/transparency-log/checkpoint.ts'
import { entryOf } from '../../platform/transparency-log/event-entry.ts'
import { GrowingTree, type FilledTile } from '../../platform/transparency-log/growing-tree.ts'
import { leafHash } from '../../platform/transparency-log/merkle.ts'
import { formatNote, signNote, type VerifierKey } from '../../platform/transparency-log/signed-note.ts'
import { partialTiles, tilePath } from '../../platform/transparency-log/tiles.ts'
import type { StoredRecord } from '../../platform/vault/vault-rows.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { logSealStream, type LogSealState } from '../../streams/log-seals/aggregate.ts'
import type { LogSealEvent } from '../../streams/log-seals/events.ts'

export interface SealingServers {
  readonly store: Pick<EventStore, 'load' | 'append'>
  readonly vault: Pick<Vault, 'record' | 'replaceRecord' | 'sealKey'>
  readonly objects: ObjectStore
  readonly failpoint: Failpoint
}

/** Another process sealed meanwhile, although only one may. The work begins again from what is stored. */
class SealedElsewhereError extends Error {}

const putsAtOnce = 8

interface SealingKey {
  readonly key: VerifierKey
  readonly privateKey: KeyObject
}

/**
 * The sealed log, as one process continues it. Everything that a seal needs is stored before the seal is signed, so a
 * process that dies at any place leaves a log that the next one continues.
 */
export class LogWriter {
  readonly #servers: SealingServers
  readonly #tree: GrowingTree
  /** The keys that sign, newest first. */
  readonly #keys: readonly SealingKey[]
  #kept: StoredRecord | undefined
  #record: LogRecord
  #block: IndexBlock
  #position: Position
  #sealed: SignedCheckpoint | undefined
  #revision: StreamRevision
  /** Full tiles and blocks of events that are not sealed yet, by their keys. */
  readonly #filled: { readonly path: string; readonly bytes: Buffer; readonly partials?: string }[] = []
  #appending: Promise<unknown> = Promise.resolve()

  private constructor(
    servers: SealingServers,
    opened: {
      readonly kept: StoredRecord | undefined
      readonly record: LogRecord
      readonly revision: StreamRevision
      readonly privateKeys: readonly KeyObject[]
      readonly tree: GrowingTree
      readonly block: IndexBlock
    },
  ) {
    this.#servers = servers
    this.#kept = opened.kept
    this.#record = opened.record
    this.#revision = opened.revision
    this.#tree = opened.tree
    this.#block = opened.block
    const name = logName(opened.record)
    this.#keys = opened.privateKeys.map((privateKey) => ({ key: logKeyOf(name, privateKey), privateKey }))
    ;({ position: this.#position, checkpoint: this.#sealed } = sealedPartOf(opened.record))
  }

  /**
   * Continues the log of the record in the vault, or the given one if there is none. Completes a seal that a crash cut
   * off between the vault and the event store.
   */
  static async open(servers: SealingServers, first: LogRecord): Promise<LogWriter> {
    const { store, vault, objects } = servers
    const kept = await vault.record('sealed-log')
    const { state, revision } = await store.load(logSealStream)
    const record = newestOf(kept === undefined ? first : decodeRecord(kept.bytes), state)
    const { size } = sealedPartOf(record)
    const [privateKeys, tree, block] = await Promise.all([
      Promise.all(record.keys.map((number) => vault.sealKey(record.generation, number))),
      GrowingTree.of(size, tileReader(objects, record.generation)),
      openBlock(objects, record, size),
    ])
    const writer = new LogWriter(servers, { kept, record, revision, privateKeys, tree, block })
    if ((state?.size ?? 0) < size) await writer.#appendSeal()
    await writer.#logKeys()
    return writer
  }

  get record(): LogRecord {
    return this.#record
  }

  /** The newest checkpoint. Undefined before the first seal. */
  get checkpoint(): SignedCheckpoint | undefined {
    return this.#sealed
  }

  /** Size of the newest checkpoint that enough witnesses signed; 0 if there is none. */
  get cosignedSize(): number {
    const { cosigned } = this.#record
    return cosigned === null ? 0 : parseCheckpoint(cosigned).size
  }

  /** Position of the last added event. */
  get position(): Position {
    return this.#position
  }

  /** Number of added events that no seal covers yet. */
  get waiting(): number {
    return this.#tree.size - (this.#sealed?.size ?? 0)
  }

  /** Whether somebody else changed the record: another process seals, or the keys are others. */
  isReplaced(): Promise<boolean> {
    const checking = this.#appending.then(async () => {
      const kept = await this.#servers.vault.record('sealed-log')
      return kept !== undefined && !areSame(kept, this.#kept)
    })
    this.#appending = checking.catch(() => undefined)
    return checking
  }

  /** Adds the next event of the log. */
  add(event: StoredBytes): void {
    const folder = logFolder(this.#record.generation)
    for (const tile of this.#tree.add(leafHash(entryOf(event)))) {
      const path = folder + tilePath(tile)
      this.#filled.push({ path, bytes: tile.bytes, partials: `${path}.p/` })
    }
    this.#block.add(event.id, event.position)
    this.#position = event.position
    if (!this.#block.isFull) return
    const path = folder + blockPath(this.#tree.size / blockLeaves - 1, blockLeaves)
    this.#filled.push({ path, bytes: this.#block.stored() })
    this.#block = new IndexBlock(0)
  }

  /** Seals all added events: tiles, then the checkpoint in the vault, then the event. */
  async seal(): Promise<void> {
    const { failpoint } = this.#servers
    const former = this.#sealed
    await this.#storeTiles()
    failpoint('tiles-stored')
    const origin = logName(this.#record)
    const text = checkpointText({ origin, size: this.#tree.size, root: this.#tree.root() })
    const note = { text, signatures: this.#keys.map(({ key, privateKey }) => signNote(text, key, privateKey)) }
    const checkpoint = formatNote(note)
    await this.#keep({ checkpoint, position: formatPosition(this.#position) })
    this.#sealed = parseCheckpoint(checkpoint)
    failpoint('checkpoint-stored')
    await this.#appendSeal()
    failpoint('log-sealed')
    await this.#removeReplaced(former?.size ?? 0)
  }

  /** Records a checkpoint with the signatures of witnesses. `isEnough`: a proof may stand on it. */
  async cosigned(checkpoint: SignedCheckpoint, isEnough: boolean): Promise<void> {
    const note = formatNote(checkpoint.note)
    this.#servers.failpoint('checkpoint-cosigned')
    await this.#append({ type: 'LogCosigned', data: { size: checkpoint.size, checkpoint: note } })
    if (isEnough) await this.#keep({ cosigned: note })
  }

  async #storeTiles(): Promise<void> {
    const { objects } = this.#servers
    const folder = logFolder(this.#record.generation)
    const { size } = this.#tree
    const block = blockPath(Math.floor(size / blockLeaves), this.#block.leaves)
    const unfinished = [
      ...this.#tree.partial().map((tile: FilledTile) => ({ path: folder + tilePath(tile), bytes: tile.bytes })),
      ...(this.#block.leaves === 0 ? [] : [{ path: folder + block, bytes: this.#block.stored() }]),
    ]
    const puts = [...this.#filled, ...unfinished]
    await Promise.all(
      Array.from({ length: putsAtOnce }, async (_, lane) => {
        for (let at = lane; at < puts.length; at += putsAtOnce) {
          const put = puts[at]
          if (put !== undefined) await putObject(objects, put.path, put.bytes)
        }
      }),
    )
  }

  /** Partial tiles are needed until the full one is stored, a partial block of the index until the next one is. */
  async #removeReplaced(formerSize: number): Promise<void> {
    const { objects } = this.#servers
    const folder = logFolder(this.#record.generation)
    const partials = new Set(partialTiles(formerSize).map((tile) => `${folder}${tilePath({ ...tile, width: 256 })}.p/`))
    for (const { partials: prefix } of this.#filled.splice(0)) {
      if (prefix !== undefined && partials.has(prefix)) await objects.removeVersions(prefix)
    }
    const formerLeaves = formerSize % blockLeaves
    if (formerLeaves === 0) return
    const former = folder + blockPath(Math.floor(formerSize / blockLeaves), formerLeaves)
    // The key of a later block may begin with this one. A bucket with versions would keep a block of each seal.
    for await (const { key, versions } of objects.listVersions(former))
      if (key === former) for (const { id } of versions) await objects.remove(key, id)
  }

  async #appendSeal(): Promise<void> {
    const { position } = this.#record
    if (this.#sealed === undefined || position === null) return
    const { size, root, note } = this.#sealed
    const data = { size, root: root.toString('base64'), position, checkpoint: formatNote(note) }
    await this.#append({ type: 'LogSealed', data })
  }

  /** A crash between event and record leaves an event twice, which says the same. */
  async #logKeys(): Promise<void> {
    const { unlogged } = this.#record
    if (unlogged.length === 0) return
    for (const { type, data } of unlogged) {
      const event = sealIn(type, data)
      if (event === undefined) throw new Error('the record of the sealed log in the vault has an unknown event')
      await this.#append(event)
    }
    this.#servers.failpoint('seal-keys-logged')
    await this.#keep({ unlogged: [] })
  }

  /** At the exact revision: if another process sealed too, one of both fails here. */
  #append(event: LogSealEvent): Promise<void> {
    const appending = this.#appending.then(async () => {
      const context = { commandId: v7(), correlationId: v7(), process: 'sealing' }
      const { revision } = await this.#servers.store.append(logSealStream, this.#revision, [event], context)
      this.#revision = revision
    })
    this.#appending = appending.catch(() => undefined)
    return appending
  }

  #keep(changes: Partial<LogRecord>): Promise<void> {
    const keeping = this.#appending.then(async () => {
      const record = { ...this.#record, ...changes }
      const kept = await this.#servers.vault.replaceRecord('sealed-log', this.#kept, encodeRecord(record))
      if (kept === undefined) throw new SealedElsewhereError('another process changed the record of the sealed log')
      this.#kept = kept
      this.#record = record
    })
    this.#appending = keeping.catch(() => undefined)
    return keeping
  }
}

function areSame(one: StoredRecord, other: StoredRecord | undefined): boolean {
  return other !== undefined && Buffer.compare(one.wrapped, other.wrapped) === 0
}

/** A vault from a backup may be older than the seals. They are signed too. */
export function newestOf(record: LogRecord, sealed: LogSealState): LogRecord {
  if (sealed === null || sealed.size <= sealedPartOf(record).size) return record
  if (parseCheckpoint(sealed.checkpoint).origin !== logName(record)) return record
  return { ...record, checkpoint: sealed.checkpoint, position: sealed.position }
}

/** What is known of the newest seal: by the vault, or by a later event. Undefined if nothing was sealed. */
export async function readNewestRecord({
  store,
  vault,
}: {
  readonly store: Pick<EventStore, 'load'>
  readonly vault: Pick<Vault, 'record'>
}): Promise<LogRecord | undefined> {
  const kept = await vault.record('sealed-log')
  if (kept === undefined) return undefined
  const { state } = await store.load(logSealStream)
  return newestOf(decodeRecord(kept.bytes), state)
}

async function openBlock(objects: ObjectStore, { generation }: LogRecord, size: number): Promise<IndexBlock> {
  const leaves = size % blockLeaves
  if (leaves === 0) return new IndexBlock(0)
  const path = logFolder(generation) + blockPath(Math.floor(size / blockLeaves), leaves)
  const stored = await bytesOf(objects, path)
  if (stored?.length !== bytesOfBlock(leaves)) throw new Error('the index of the sealed log is missing')
  return new IndexBlock(leaves, stored)
}
