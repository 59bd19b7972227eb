import { positionIn, readBlock } from '../../contracts/audit/event-index.ts'
import { logKeys } from '../../contracts/audit/log-keys.ts'
import { blockLeaves, tileReader } from '../../contracts/audit/log-objects.ts'
import { logName, sealedPartOf, type LogRecord, type SealedPart } from '../../contracts/audit/log-record.ts'
import { isSealedStream } from '../../contracts/audit/sealed-events.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { ConfigurationError } from '../../platform/configuration/profile-rules.ts'
import { comparePositions, formatPosition } from '../../platform/kit/positions.ts'
import type { Egress } from '../../platform/outbound/egress.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { checkpointRefusal, type SignedCheckpoint } from '../../platform/transparency-log/checkpoint.ts'
import { entryOf } from '../../platform/transparency-log/event-entry.ts'
import { leafHash } from '../../platform/transparency-log/merkle.ts'
import { TileError, TileTree, tileWidth } from '../../platform/transparency-log/tiles.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { Witness } from '../../processes/adapters/witness.ts'
import { readNewestRecord } from '../../processes/sealing/log-writer.ts'

export interface CheckedServers {
  readonly configuration: Pick<Configuration, 'witnesses' | 'sealOrigin'>
  readonly store: Pick<EventStore, 'head' | 'load' | 'readStoredLog'>
  readonly vault: Pick<Vault, 'record' | 'sealKeys'>
  readonly objects: Pick<ObjectStore, 'read'>
  readonly egress: Egress
}

/** The event store lacks events that were sealed, or has others in their place. */
export class LogWentBackError extends Error {
  override readonly name = 'LogWentBackError'
  readonly code = 'log-went-back'

  constructor(reason: string) {
    super(
      `log-went-back: ${reason}. Restore a newer copy of the event store, or accept this one with "platform audit accept-older-log --reason …"`,
    )
  }
}

/** A start does not wait longer for a witness, in milliseconds. */
const witnessMs = 2_000

/**
 * Refuses an event store that is older than its newest seal, or whose last events are not those that were sealed. The
 * vault knows the newest seal; a witness knows it too if the vault is from the same backup.
 * @throws LogWentBackError, ConfigurationError
 */
export async function requireSealedLog(servers: CheckedServers): Promise<void> {
  const first = await readNewestRecord(servers)
  if (first === undefined) return
  const { sealOrigin } = servers.configuration
  if (sealOrigin !== undefined && sealOrigin !== first.origin)
    throw new ConfigurationError(`SEAL_ORIGIN must be ${first.origin}: the first seal fixed it`)
  // Another process may seal meanwhile. What a witness signed before is not ahead of what is read after that.
  const signed = await askWitnesses(servers, logName(first))
  const newest = (await readNewestRecord(servers)) ?? first
  const part = sealedPartOf(newest)
  if (part.checkpoint !== undefined) await requireEvents(servers, newest.generation, part, part.checkpoint)
  await requireWitnessed(servers, newest, signed)
}

/** The root of the tiles is that of the checkpoint, and the last sealed events are those of the tiles. */
async function requireEvents(
  servers: CheckedServers,
  generation: number,
  { size, position }: SealedPart,
  checkpoint: SignedCheckpoint,
): Promise<void> {
  const { store, objects } = servers
  const tree = new TileTree(size, tileReader(objects, generation))
  const first = Math.max(Math.floor((size - 1) / tileWidth) - 1, 0) * tileWidth
  const start = await startOf(servers, generation, first, size)
  if (start === undefined || !(await rootOf(tree))?.equals(checkpoint.root))
    throw new LogWentBackError(
      'the tiles of the sealed log do not fit its newest seal: they are newer, or some are lost',
    )
  let leaf = first
  for await (const event of store.readStoredLog({ at: start })) {
    if (!isSealedStream(event.stream)) continue
    const hash = leafHash(entryOf(event))
    // A scavenge removes events that their stream may lose. A log that went back lacks the last one.
    while (leaf < size && !hash.equals(await tree.leaf(leaf))) leaf += 1
    if (leaf === size)
      throw new LogWentBackError(`the event at ${formatPosition(event.position)} is not the one that was sealed there`)
    leaf += 1
    if (leaf === size) {
      if (comparePositions(event.position, position) === 0) return
      throw new LogWentBackError('the last sealed event has another position')
    }
  }
  // The node that answers may lack the newest events, or end the read.
  if (comparePositions(await store.head({ streamPrefixes: [] }), position) >= 0)
    throw new Error('the event store ended the read of its log early: try again')
  throw new LogWentBackError(`the event store ends before its newest seal, which covers ${size} events`)
}

async function rootOf(tree: TileTree): Promise<Buffer | undefined> {
  try {
    return await tree.root()
  } catch (error) {
    if (error instanceof TileError) return undefined
    throw error
  }
}

/** Position of the first event of a tile. Undefined if the index is missing. */
async function startOf(servers: CheckedServers, generation: number, leaf: number, size: number) {
  const stored = await readBlock(servers, { generation, size }, Math.floor(leaf / blockLeaves))
  return stored === undefined ? undefined : positionIn(stored, leaf)
}

interface WitnessedLog {
  readonly name: string
  readonly newest: SignedCheckpoint | undefined
}

async function askWitnesses({ configuration, egress }: CheckedServers, log: string): Promise<readonly WitnessedLog[]> {
  return Promise.all(
    configuration.witnesses.map(async (address) => {
      const witness = new Witness(egress, address)
      return { name: witness.key.name, newest: await witness.newest(log, AbortSignal.timeout(witnessMs)) }
    }),
  )
}

/** Only what our own key signed counts: a witness cannot stop a start by itself. */
async function requireWitnessed(
  { vault, objects }: CheckedServers,
  record: LogRecord,
  signed: readonly WitnessedLog[],
): Promise<void> {
  if (signed.length === 0) return
  const keys = await logKeys(vault, record.origin)
  const { size } = sealedPartOf(record)
  for (const { name, newest } of signed) {
    if (newest === undefined || checkpointRefusal(newest, keys) !== undefined) continue
    if (newest.size > size)
      throw new LogWentBackError(`the witness ${name} has signed ${newest.size} events, and ${size} are sealed`)
    const root = await rootOf(new TileTree(newest.size, tileReader(objects, record.generation)))
    if (root?.equals(newest.root) !== true) throw new LogWentBackError(`the witness ${name} has signed another log`)
  }
}
