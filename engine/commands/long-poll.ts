import type { ReplyHead } from '../../platform/http/replies.ts'
import type { EventStore } from '../store/event-store.ts'
import type { DomainEvent, Target } from '../store/events.ts'
import type { Position } from '../../platform/kit/positions.ts'

/** The state for the answer of a write. */
export interface Held<State> {
  readonly state: State
  /** Position of the end, if it came while the answer was held. The read models of the record should reach it. */
  readonly position: Position | undefined
}

/**
 * Holds the answer of a write until the work that it started has ended, for callers that send `Prefer: wait`. It reads
 * the stream, not a read model, because a stream contains every acknowledged event.
 */
export async function longPoll<State, Event extends DomainEvent>(
  store: EventStore,
  reply: ReplyHead,
  { fold, stream }: Target<State, Event>,
  state: State,
  isOver: (state: State) => boolean,
): Promise<Held<State>> {
  let isInHand = true
  const look = async (): Promise<State> => {
    if (!isInHand) return (await store.load({ fold, stream })).state
    isInHand = false
    return state
  }
  const seen = await reply.request.server.waiting.hold(reply, look, isOver)
  if (isOver(state) || !isOver(seen)) return { state: seen, position: undefined }
  // Without a position the answer is still correct, but a GET right after it may be a moment behind.
  const position = await store.head({ streamPrefixes: [stream] }).catch(() => undefined)
  return { state: seen, position }
}
