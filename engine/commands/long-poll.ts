import type { ReplyHead } from '../../platform/http/replies.ts'
import type { EventStore } from '../store/event-store.ts'
import type { DomainEvent, Target } from '../store/events.ts'
import type { Position } from '../../platform/kit/positions.ts'

/** The state for the answer of a write. */
export interface Held<State> {
  readonly state: State
  /** Position of the newest event of the state, if it came while the answer was held. Read models should reach it. */
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
  let inHand: Held<State> | undefined = { state, position: undefined }
  const look = async (): Promise<Held<State>> => {
    const first = inHand
    inHand = undefined
    return first ?? store.loadFollowed({ fold, stream })
  }
  const watch = (wake: () => void) => store.watch(stream, wake)
  return reply.request.server.waiting.hold(reply, look, (held) => isOver(held.state), watch)
}
