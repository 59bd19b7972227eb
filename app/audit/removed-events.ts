import { isSealedStream } from '../../contracts/audit/sealed-events.ts'
import type { StoredBytes } from '../../engine/store/log-frames.ts'
import { comparePositions, type Position } from '../../platform/kit/positions.ts'
import { placeFault, type Fault } from './fault.ts'
import type { HashedEvent } from './log-comparison.ts'

interface Gap {
  readonly stream: string
  readonly revision: bigint
  /** Of the next event of the stream. */
  readonly before: Position
}

interface Removal {
  /** How many sealed events are gone that no rule drops. */
  readonly removed: number
  /** Leaves without an event. Some of them may have been dropped by a rule. */
  readonly missing: readonly { readonly after: HashedEvent | undefined }[]
  readonly mayLoseEvents: (stream: string) => boolean
}

const mostNamed = 1_000

/**
 * Names removed events: a leaf is only a hash, but the revisions of the streams show which one lacks an event. The last
 * events of a stream leave no such gap, so they have a place and no stream.
 */
export async function nameRemoved(
  events: AsyncIterable<StoredBytes>,
  { removed, missing, mayLoseEvents }: Removal,
): Promise<Fault[]> {
  const gaps = await gapsOf(events, mayLoseEvents)
  const places = missing.map(({ after }) => after?.position)
  const faults: Fault[] = []
  for (const { stream, revision, before } of gaps.slice(0, removed)) {
    const at = places.findLastIndex((place) => place === undefined || comparePositions(place, before) < 0)
    const place = at === -1 ? before : places[at]
    if (at !== -1) places.splice(at, 1)
    faults.push(placeFault('removed', place, `revision ${revision} of the stream is gone`, stream))
  }
  const unnamed = Math.min(removed - faults.length, mostNamed)
  const isEachKnown = places.length === removed - faults.length
  for (let at = 0; at < unnamed; at += 1)
    faults.push(placeFault('removed', isEachKnown ? places[at] : undefined, 'a sealed event is gone'))
  return faults
}

async function gapsOf(
  events: AsyncIterable<StoredBytes>,
  mayLoseEvents: (stream: string) => boolean,
): Promise<readonly Gap[]> {
  const next = new Map<string, bigint>()
  const gaps: Gap[] = []
  for await (const { stream, revision, position } of events) {
    if (!isSealedStream(stream)) continue
    const expected = next.get(stream) ?? (mayLoseEvents(stream) ? revision : 0n)
    for (let each = expected; each < revision && gaps.length < mostNamed; each += 1n)
      gaps.push({ stream, revision: each, before: position })
    if (revision >= expected) next.set(stream, revision + 1n)
  }
  return gaps
}
