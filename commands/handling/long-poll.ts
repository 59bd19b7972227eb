import type { ReplyHead } from '../../platform/http/replies.ts'
import type { EventStore } from '../../streams/store/event-store.ts'
import type { DomainEvent, Target } from '../../streams/store/events.ts'
import type { Position } from '../../platform/kit/positions.ts'

/** What a write answers with. */
export interface Held<State> {
  readonly state: State
  /** Of the end, when it came while the answer was held: the read models that serve the record should know of it. */
  readonly position: Position | undefined
}

/**
 * Holds the answer of a write back for callers who prefer to wait until what it set in motion is over (`Prefer: wait`).
 * The stream is asked, not a read model: what has been acknowledged is never missing there.
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
  // Without it the answer is as right; a GET right after it might be a moment behind.
  const position = await store.head({ streamPrefixes: [stream] }).catch(() => undefined)
  return { state: seen, position }
}
