import type { StoredEvent } from '../log/frame.ts'
import { readEventMessage, recordedEventBytes, withStructuredId } from '../wire/event-message.ts'
import type { ReadRequest } from '../wire/read-request.ts'
import { resolveLink, type LinkReader } from '../streams/links.ts'
import type { StreamStore } from '../streams/stream-store.ts'

/**
 * An event in the form that the client requested: with or without resolved links, and with its form of ids. Throws
 * CorruptLogError.
 */
export function replyOf(
  store: StreamStore,
  request: ReadRequest,
  stored: StoredEvent,
  reader: LinkReader = 'reading',
): Buffer {
  if (!request.structuredIds && !request.resolveLinks) return stored.message
  const { event, link } = request.resolveLinks ? resolveLink(store, stored, reader) : { event: stored, link: undefined }
  if (!request.structuredIds && link === undefined) return stored.message
  const record = (part: StoredEvent | undefined): Buffer | undefined => {
    if (part === undefined) return undefined
    const bytes = recordedEventBytes(part.message, part.layout)
    return request.structuredIds ? withStructuredId(bytes) : bytes
  }
  return readEventMessage(record(event), record(link), stored.position)
}
