import type { StoredEvent } from '../log/frame.ts'
import { withStructuredId } from '../wire/event-message.ts'
import type { ReadRequest } from '../wire/read-request.ts'

/** Replies sent in one go: large enough to be cheap, small enough to keep a slow client's memory low. */
export const REPLIES_AT_ONCE = 128

/** An event with its id in the form that the client asked for. */
export function replyOf(request: ReadRequest, event: StoredEvent): Buffer {
  return request.structuredIds ? withStructuredId(event.message) : event.message
}
