import type { SealState } from '../../contracts/operations/record.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { EventFilter } from '../../engine/store/subscription-options.ts'
import { comparePositions, parsePosition } from '../../platform/kit/positions.ts'
import { limited } from '../../platform/kit/time-limits.ts'
import { parseCheckpoint } from '../../platform/transparency-log/checkpoint.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { logSeals, logSealStream } from '../../streams/log-seals/aggregate.ts'
import type { LogSealEvent } from '../../streams/log-seals/events.ts'

/** An event store that is away must not hold an answer up. In milliseconds. */
const storeLimitMs = 2_000
/** Signatures of witnesses follow their seal, so they are among the newest events. */
const mostRead = 50

/** The events of the program, without the seals: each would need another one. */
const sealed: EventFilter = {
  streamPrefixes: catalogue.categories.filter((category) => category !== logSeals.category),
}

/** Null before the first seal, and while the event store is away. */
export async function sealWithin(store: () => Promise<EventStore>, now: () => Date): Promise<SealState | null> {
  const read = store().then((opened) => readSeal(opened, now))
  return limited(storeLimitMs, read).catch(() => null)
}

async function readSeal(store: EventStore, now: () => Date): Promise<SealState | null> {
  let witnesses: SealState['witnesses'] = []
  const newestFirst = { direction: 'backwards', limit: mostRead } as const
  for await (const { data, recordedAt } of store.readStream<LogSealEvent>(logSealStream.stream, newestFirst)) {
    // An older log was accepted: its seals are those of a new log.
    if ('reason' in data) return null
    if ('by' in data) continue
    if (!('position' in data)) {
      if (witnesses.length === 0) witnesses = witnessesOf(data.checkpoint)
      continue
    }
    const position = parsePosition(data.position)
    const isBehind = position === undefined || comparePositions(await store.head(sealed), position) > 0
    const seconds = Math.max(0, Math.round((now().getTime() - Date.parse(recordedAt)) / 1_000))
    const { size } = data
    return { size, position: data.position, sealed_at: recordedAt, lag_seconds: isBehind ? seconds : 0, witnesses }
  }
  return null
}

/** The note contains the signature of the log too. */
function witnessesOf(checkpoint: string): SealState['witnesses'] {
  const { origin, size, note } = parseCheckpoint(checkpoint)
  return note.signatures.filter(({ name }) => name !== origin).map(({ name }) => ({ name, size }))
}
