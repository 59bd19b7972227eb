import type { SealState } from '../../contracts/operations/record.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { EventFilter } from '../../engine/store/subscription-options.ts'
import type { Pool } from '../../platform/database/database.ts'
import { comparePositions, parsePosition } from '../../platform/kit/positions.ts'
import { limited } from '../../platform/kit/time-limits.ts'
import { parseCheckpoint } from '../../platform/transparency-log/checkpoint.ts'
import { catalogue } from '../../streams/catalogue.ts'
import { logSeals, logSealStream } from '../../streams/log-seals/aggregate.ts'
import type { OperatorActor } from '../../streams/operations/events.ts'
import { operatorActionsProjector } from '../../projections/operations/operator-actions.projector.ts'
import { filledLists } from './filled-lists.ts'
import type { LogSealEvent } from '../../streams/log-seals/events.ts'

/** An event store that is away must not hold an answer up. In milliseconds. */
const storeLimitMs = 2_000
/** Signatures of witnesses follow their seal, so they are among the newest events. */
const mostRead = 50

/** The events of the program, without the seals: each would need another one. */
const sealed: EventFilter = {
  streamPrefixes: catalogue.categories.filter((category) => category !== logSeals.category),
}

interface SealSources {
  readonly pool: Pool
  readonly store: () => Promise<EventStore>
  readonly now: () => Date
}

/** Null before the first seal, and while the event store is away. */
export async function sealWithin({ pool, store, now }: SealSources): Promise<SealState | null> {
  const read = store().then((opened) => readSeal(opened, now))
  const [seal, verification] = await Promise.all([
    limited(storeLimitMs, read).catch(() => null),
    readLastVerification(pool),
  ])
  return seal === null ? null : { ...seal, last_verification: verification }
}

type Seal = Omit<SealState, 'last_verification'>

async function readLastVerification(pool: Pool): Promise<SealState['last_verification']> {
  if (!(await filledLists(pool))(operatorActionsProjector)) return null
  const { rows } = await pool.query<{
    at: Date
    subject_id: string
    count: number
    actor_kind: OperatorActor['kind']
    actor_id: string | null
  }>(
    `select at, subject_id, count, actor_kind, actor_id from operator_actions.actions
     where action = 'log.verify' order by at desc limit 1`,
  )
  return (
    rows.map(({ at, subject_id: size, count: faults, actor_kind: kind, actor_id: id }) => ({
      at: at.toISOString(),
      size: Number(size),
      faults,
      actor: { kind, id },
    }))[0] ?? null
  )
}

async function readSeal(store: EventStore, now: () => Date): Promise<Seal | null> {
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
