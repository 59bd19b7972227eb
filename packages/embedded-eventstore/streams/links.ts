import { eventData, eventType, type StoredEvent } from '../log/frame.ts'
import { readEvent } from './read-stream.ts'
import type { StreamStore } from './stream-store.ts'

/** The result for a reader that resolves links: an event, a link and its event, or a link without a target. */
export type ResolvedEvent = { event: StoredEvent | undefined; link: StoredEvent | undefined }

/** `reading`: a read, or a subscription that catches up. */
export type LinkReader = 'reading' | 'live'

/** Type of the events that point to another event. Their data is `revision@stream`. */
export const LINK_EVENT = '$>'

const INTEGER = /^[\t-\r ]*[+-]?\d+[\t-\r ]*\0*$/
const LARGEST_INT64 = 2n ** 63n - 1n

/**
 * Follows a link by one step. The target is looked up as a read finds it now. If the target is deleted, truncated, too
 * old or missing, the link comes alone. Data without a leading number has two meanings, as on the server. Reads and
 * subscriptions that catch up take the link as an ordinary event; live subscriptions take it as a link without a
 * target. Throws CorruptLogError and CorruptIndexError.
 */
export function resolveLink(store: StreamStore, stored: StoredEvent, reader: LinkReader): ResolvedEvent {
  if (!isLink(stored)) return { event: stored, link: undefined }
  const [number = '', ...rest] = eventData(stored).toString('utf8').split('@')
  const revision = parseInt64(number)
  if (revision === undefined && reader === 'reading') return { event: stored, link: undefined }
  const stream = rest.join('@')
  if (revision === undefined || revision < -1n || stream === '' || revision > Number.MAX_SAFE_INTEGER)
    return { event: undefined, link: stored }
  return { event: readEvent(store, stream, Number(revision)), link: stored }
}

function isLink(event: StoredEvent): boolean {
  return event.layout.typeLength === LINK_EVENT.length && eventType(event) === LINK_EVENT
}

/** A number as the server parses it: with optional spaces around it and a sign, in 64 bits. */
function parseInt64(text: string): bigint | undefined {
  if (!INTEGER.test(text)) return undefined
  const digits = text.replaceAll(/[^\d]/g, '').replace(/^0+(?=\d)/, '')
  if (digits.length > 19) return undefined
  const value = text.includes('-') ? -BigInt(digits) : BigInt(digits)
  return value > LARGEST_INT64 || value < -LARGEST_INT64 - 1n ? undefined : value
}
