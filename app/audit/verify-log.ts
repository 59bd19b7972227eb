import { isSealedStream } from '../../contracts/audit/sealed-events.ts'
import type { StoredBytes } from '../../engine/store/log-frames.ts'
import { comparePositions, formatPosition, startOfLog, type Position } from '../../platform/kit/positions.ts'
import { checkpointRefusal, type SignedCheckpoint } from '../../platform/transparency-log/checkpoint.ts'
import { cosignedAt } from '../../platform/transparency-log/cosignature.ts'
import { entryOf } from '../../platform/transparency-log/event-entry.ts'
import { GrowingTree } from '../../platform/transparency-log/growing-tree.ts'
import { hashBytes, leafHash } from '../../platform/transparency-log/merkle.ts'
import type { VerifierKey } from '../../platform/transparency-log/signed-note.ts'
import { tilePath, TileTree, tileWidth, type ReadTile } from '../../platform/transparency-log/tiles.ts'
import { eventFault, placeFault, type Fault } from './fault.ts'
import { LeafReader, pathOfParent } from './leaf-reader.ts'
import { LogComparison, type Difference, type HashedEvent } from './log-comparison.ts'
import { nameRemoved } from './removed-events.ts'
import { SealCheck, type StoredSeal } from './seal-check.ts'

export interface WitnessToAsk {
  readonly key: VerifierKey
  /** Its newest checkpoint of this log, if it answered. */
  readonly newest: SignedCheckpoint | undefined
}

export interface LogToVerify {
  /** All events in the order of the log after the sealed event `from`, those of `log_seals` included. */
  readonly events: () => AsyncIterable<StoredBytes>
  /** The stream `log_seals`, from its start. */
  readonly seals: AsyncIterator<StoredSeal>
  readonly readTile: ReadTile
  readonly generation: number
  /** The newest checkpoint that the vault knows, and the position of its last event. */
  readonly sealed: { readonly checkpoint: SignedCheckpoint; readonly position: Position } | undefined
  /** Size of an earlier seal. What it seals is not verified again. */
  readonly from: number
  readonly keys: readonly VerifierKey[]
  /** They are the one that the auditor trusts. */
  readonly hasOneKey?: boolean
  readonly witnesses: readonly WitnessToAsk[]
  readonly isSigned: (event: StoredBytes) => boolean | Promise<boolean>
  /** Whether events of the stream need our signature. */
  readonly isOwn: (stream: string) => boolean
  readonly mayLoseEvents: (stream: string) => boolean
}

export interface Verification {
  /** Number of sealed events. */
  readonly size: number
  /** Number of events that were read. */
  readonly events: number
  /** Sealed events that the event store dropped by its rules. */
  readonly truncated: number
  readonly faults: readonly Fault[]
  readonly witnesses: readonly { readonly name: string; readonly size: number | null; readonly at: string | null }[]
}

const batchEvents = 256

/** Compares the events of a log with its tiles, seals and witnesses. Pure but for what the input reads. */
export async function verifyLog(log: LogToVerify): Promise<Verification> {
  const { sealed, readTile, from } = log
  const size = sealed?.checkpoint.size ?? 0
  const faults: Fault[] = []
  const seals = new SealCheck({ ...log, witnesses: log.witnesses.map(({ key }) => key) })
  const leaves = await LeafReader.from(Math.min(from, size), { size, readTile, onLeaf: (tree) => seals.compare(tree) })
  const tileStarts = new Map<number, Position>()
  const comparison = new LogComparison(Math.min(from, size), (leaf, { position }) => {
    if (leaf % tileWidth === 0) tileStarts.set(leaf / tileWidth, position)
  })
  const firstRevisions = new Map<string, bigint>()
  let events = 0
  let last: Position = startOfLog
  let batch: HashedEvent[] = []

  async function compareBatch(): Promise<void> {
    comparison.add([], batch)
    batch = []
    while (comparison.leavesWanted > 0 && leaves.hasMore) comparison.add(await leaves.next(), [])
  }

  for await (const event of log.events()) {
    const { id, stream, revision, position } = event
    last = position
    events += 1
    const isSigned = log.isSigned(event)
    const isUnsigned = log.isOwn(stream) && !(isSigned instanceof Promise ? await isSigned : isSigned)
    if (!isSealedStream(stream)) continue
    if (isUnsigned && faults.length < mostFaults)
      faults.push(eventFault('unknown_key', event, 'the platform did not sign this event'))
    if (!firstRevisions.has(stream) && log.mayLoseEvents(stream)) firstRevisions.set(stream, revision)
    batch.push({ id, stream, revision, position, hash: leafHash(entryOf(event)) })
    if (batch.length === batchEvents) await compareBatch()
  }
  await compareBatch()
  while (leaves.hasMore) comparison.add(await leaves.next(), [])
  comparison.end(({ position }) => sealed !== undefined && comparePositions(position, sealed.position) <= 0)
  await seals.end()

  const tail = cutTail(comparison, log, last)
  const isOfTile = tileFaultOf(log, leaves, size)
  const brokenTiles = new Map<string, Position | undefined>()
  const missing: Extract<Difference, { kind: 'missing' }>[] = []
  let inPlaceOfOthers = 0
  const changedIds = new Set<string>()
  for (const difference of comparison.differences()) {
    if (difference.kind === 'missing') {
      if (difference.leaf < tail.from) missing.push(difference)
      continue
    }
    const { event } = difference
    if (difference.kind === 'changed') inPlaceOfOthers += 1
    const tile = difference.kind === 'changed' ? await isOfTile(difference.leaf, event) : undefined
    if (tile !== undefined) {
      if (!brokenTiles.has(tile)) brokenTiles.set(tile, event.position)
      continue
    }
    changedIds.add(`${event.id} ${formatPosition(event.position)}`)
    faults.push(eventFault(difference.kind, event, sentences[difference.kind]))
  }
  for (const mismatch of leaves.mismatches) {
    const isExplained =
      mismatch.level === 1
        ? brokenTiles.has(childPath(mismatch.child, size))
        : leaves.mismatches.some(
            ({ level, child }) => level === mismatch.level - 1 && Math.floor(child / tileWidth) === mismatch.child,
          )
    const path = pathOfParent(mismatch, size)
    if (!isExplained && !brokenTiles.has(path))
      brokenTiles.set(path, tileStarts.get(mismatch.child * tileWidth ** (mismatch.level - 1)))
  }
  for (const [path, position] of brokenTiles)
    faults.push(placeFault('changed', position, `${path} is missing or was changed; the events fit the seals`))

  // With a later start nobody can say which revisions came before it.
  const mostTruncated = from > 0 ? 0 : [...firstRevisions.values()].reduce((sum, revision) => sum + Number(revision), 0)
  const withoutEvent = comparison.missing - tail.count - inPlaceOfOthers
  const removed = Math.max(withoutEvent - mostTruncated, 0)
  if (removed > 0)
    faults.push(
      ...(await nameRemoved(log.events(), {
        removed,
        missing,
        mayLoseEvents: (stream) => from > 0 || log.mayLoseEvents(stream),
      })),
    )
  if (tail.fault !== undefined) faults.push(tail.fault)

  const [unequal] = seals.unequal
  if (unequal !== undefined && brokenTiles.size === 0)
    faults.push(
      placeFault(
        'changed',
        unequal.event.position,
        `the events and tiles up to ${unequal.size} are not those that were sealed`,
      ),
    )
  faults.push(...seals.faults, ...newestFaults(log, seals, leaves, brokenTiles.size > 0))
  faults.push(...(await witnessFaults(log, seals, size, comparison.lastMatch?.event.position)))
  return {
    size,
    events,
    truncated: withoutEvent - removed,
    faults: inOrder(withoutRepeats(faults, changedIds)).slice(0, mostFaults),
    witnesses: log.witnesses.map(({ key, newest }) => {
      const recorded = seals.witnessed.get(key.name)
      const at = newest === undefined ? undefined : cosignedAt(newest, key)
      if (newest !== undefined && at instanceof Date) return { name: key.name, size: newest.size, at: at.toISOString() }
      return { name: key.name, size: recorded?.size ?? null, at: recorded?.at.toISOString() ?? null }
    }),
  }
}

const mostFaults = 1_000

const sentences = {
  changed: 'the stored event is not the one that was sealed',
  added: 'the event stands among sealed events and was never sealed',
  moved: 'the event was sealed in another place of the log',
} as const

/** Sealed events at the end of the tree, if the log ends before its newest seal. */
function cutTail(
  comparison: LogComparison,
  { from: first, sealed }: LogToVerify,
  last: Position,
): { readonly from: number; readonly count: number; readonly fault?: Fault } {
  const size = sealed?.checkpoint.size ?? 0
  const matched = comparison.lastMatch
  const from = matched === undefined ? Math.min(first, size) : matched.leaf + 1
  const count = size - from
  if (sealed === undefined || count <= 0 || comparePositions(last, sealed.position) >= 0)
    return { from: size, count: 0 }
  const fault = placeFault('tail_cut', matched?.event.position, `the last ${count} sealed events are gone`)
  return { from, count, fault }
}

function childPath(child: number, size: number): string {
  const width = Math.min(tileWidth, size - child * tileWidth)
  return tilePath({ level: 0, index: child, width })
}

/** Tells a changed tile from a changed event: by the tile above, and at the end of the log by the checkpoint. */
function tileFaultOf({ sealed }: LogToVerify, leaves: LeafReader, size: number) {
  const broken = new Set(leaves.mismatches.filter(({ level }) => level === 1).map(({ child }) => child))
  return async (leaf: number, event: HashedEvent): Promise<string | undefined> => {
    const child = Math.floor(leaf / tileWidth)
    const path = childPath(child, size)
    if (broken.has(child)) return path
    const isLast = (child + 1) * tileWidth > size
    if (!isLast || sealed === undefined || leaves.tree.root().equals(sealed.checkpoint.root)) return undefined
    const partial = leaves.tree.partial()
    const corrected = await GrowingTree.of(size, async (tile) => {
      const bytes = Buffer.from(partial.find(({ level }) => level === tile.level)?.bytes ?? Buffer.alloc(0))
      if (tile.level === 0) event.hash.copy(bytes, (leaf % tileWidth) * hashBytes)
      return bytes
    })
    return corrected.root().equals(sealed.checkpoint.root) ? path : undefined
  }
}

/** The checkpoint of the vault: its signature and its root. */
function newestFaults(log: LogToVerify, seals: SealCheck, leaves: LeafReader, hasBrokenTiles: boolean): Fault[] {
  const { sealed } = log
  if (sealed === undefined) return []
  const refusal = checkpointRefusal(sealed.checkpoint, seals.keys)
  if (refusal !== undefined) {
    const kind = refusal === 'unknown-key' ? 'unknown_key' : 'forged_seal'
    return [placeFault(kind, sealed.position, 'the newest checkpoint has no valid signature of a known key')]
  }
  const isRootEqual = leaves.tree.root().equals(sealed.checkpoint.root)
  if (isRootEqual || hasBrokenTiles || seals.unequal.length > 0) return []
  return [placeFault('changed', sealed.position, 'the tiles and events are not those of the newest checkpoint')]
}

/** Who holds all keys can write and seal everything anew. What a witness signed before shows it. */
async function witnessFaults(
  log: LogToVerify,
  { keys }: SealCheck,
  size: number,
  end: Position | undefined,
): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const { key, newest } of log.witnesses) {
    if (newest === undefined) continue
    const isOfUs = checkpointRefusal(newest, keys) === undefined && cosignedAt(newest, key) instanceof Date
    if (!isOfUs) continue
    if (newest.size > size)
      faults.push(placeFault('tail_cut', end, `the witness ${key.name} has signed ${newest.size} events`))
    else if (!(await new TileTree(newest.size, log.readTile).root()).equals(newest.root))
      faults.push(
        placeFault(
          'forged_seal',
          log.sealed?.position,
          `the witness ${key.name} has signed another log of ${newest.size} events`,
        ),
      )
  }
  return faults
}

/** An event that was changed or added has no valid signature either. */
function withoutRepeats(faults: readonly Fault[], named: ReadonlySet<string>): Fault[] {
  return faults.filter(({ kind, event_id: id, position }) => kind !== 'unknown_key' || !named.has(`${id} ${position}`))
}

function inOrder(faults: readonly Fault[]): Fault[] {
  const place = ({ position }: Fault): bigint => (position === null ? -1n : BigInt(position.split('/')[0] ?? 0))
  return faults.toSorted((one, other) => Number(place(one) - place(other)))
}
