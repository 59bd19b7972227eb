import type { EventStore } from '../../engine/store/event-store.ts'
import { evolved, type DomainEvent, type Loaded, type RecordedEvent, type Target } from '../../engine/store/events.ts'
import { problem, type Problem } from '../../platform/http/problems.ts'
import { comparePositions, type Position } from '../../platform/kit/positions.ts'
import type { PastStream } from './past-sources.ts'

/** Most events that one answer reads. Each stays in memory until the answer is there. */
const mostEvents = 20_000

/**
 * The events of the streams up to a position, in the order of the log.
 * @throws Problem `history-too-large`
 */
export async function eventsUpTo(
  store: Pick<EventStore, 'readStream'>,
  streams: readonly PastStream[],
  upTo: Position,
  most = mostEvents,
): Promise<RecordedEvent[]> {
  let found = 0
  const each = await Promise.all(
    streams.map(async ({ stream, firstRevision = 0n, lastRevision }) => {
      const events: RecordedEvent[] = []
      const limit = lastRevision === undefined ? {} : { limit: Number(lastRevision - firstRevision) + 1 }
      for await (const event of store.readStream(stream, { from: firstRevision, ...limit })) {
        if (comparePositions(event.position, upTo) > 0) break
        found += 1
        if (found > most) throw problem('history-too-large')
        events.push(event)
      }
      return events
    }),
  )
  return each.flat().toSorted((a, b) => comparePositions(a.position, b.position) || Number(a.revision - b.revision))
}

/**
 * The personal members of a person whose key was destroyed are null. A record that only mentions the person has an answer
 * again from the erasure on.
 */
export function erasureIn(events: readonly RecordedEvent[], streams: readonly PastStream[]): Problem | undefined {
  const mentioned = new Set(streams.filter(({ isMentioned }) => isMentioned).map(({ stream }) => stream))
  const isCleared = (stream: string) =>
    mentioned.has(stream) && events.some((event) => event.stream === stream && erasureStarts.includes(event.type))
  for (const { type, data, stream } of events) {
    const personal = personalMembers[type]
    if (personal?.every((member) => Reflect.get(Object(data), member) === null) === true && !isCleared(stream))
      return problem(type === 'UserCreated' ? 'user-erased' : 'subject-erased')
  }
  return undefined
}

/** The state of a stream of the answer at the moment. Undefined for any other stream. */
export type PastLoad = <State, Event extends DomainEvent>(target: Target<State, Event>) => Loaded<State> | undefined

/** Answers the loads of routes that decide by a stream itself, not by a read model. */
export function pastLoad(streams: readonly PastStream[], events: readonly RecordedEvent[]): PastLoad {
  return <State, Event extends DomainEvent>({ fold, stream }: Target<State, Event>) => {
    if (!streams.some((one) => one.stream === stream)) return undefined
    const own = events.filter((event) => event.stream === stream)
    const state = own.reduce((before, event) => evolved(fold, before, event), fold.initialState)
    const last = own.at(-1)
    return { state, revision: last?.revision ?? 'no_stream', position: last?.position }
  }
}

const erasureStarts: readonly string[] = ['UserErasureStarted', 'PatientErasureStarted']

const personalMembers: Readonly<Record<string, readonly string[]>> = {
  LegalHoldPlaced: ['reason'],
  UserCreated: ['email', 'displayName'],
  PatientRegistered: ['person'],
}
