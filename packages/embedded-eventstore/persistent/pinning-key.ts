import { jsonOf } from '../json-text.ts'
import { eventData, eventType, type StoredEvent } from '../log/frame.ts'
import { LINK_EVENT, type ResolvedEvent } from '../streams/links.ts'
import { recordedEventBytes } from '../wire/event-message.ts'
import { FieldReader } from '../wire/protobuf.ts'
import type { Strategy } from './group-settings.ts'

/** Returns the key by which messages go to the same consumer: their stream, or the correlation id in their metadata. */
export function pinningKey(strategy: Strategy): (resolved: ResolvedEvent) => string {
  return strategy === 'PinnedByCorrelation' ? (resolved) => correlationOf(resolved) ?? streamOf(resolved) : streamOf
}

/** For an unresolved link, the stream that it points to. */
function streamOf({ event, link }: ResolvedEvent): string {
  const record = event ?? link
  if (record === undefined) return ''
  if (eventType(record) !== LINK_EVENT) return recordFields(record).stream
  const target = eventData(record).toString('utf8')
  return target.slice(target.indexOf('@') + 1)
}

function correlationOf({ event, link }: ResolvedEvent): string | undefined {
  const record = event ?? link
  if (record === undefined) return undefined
  const metadata = jsonOf(recordFields(record).metadata.toString('utf8'))
  if (typeof metadata !== 'object' || metadata === null || !('$correlationId' in metadata)) return undefined
  return typeof metadata.$correlationId === 'string' ? metadata.$correlationId : undefined
}

const NO_BYTES = Buffer.alloc(0)

/** Stream name and user metadata of a stored event. */
export function recordFields(event: StoredEvent): { stream: string; metadata: Buffer } {
  const found: { stream: string; metadata: Buffer } = { stream: '', metadata: NO_BYTES }
  const fields = new FieldReader(recordedEventBytes(event.message, event.layout))
  while (fields.next()) {
    if (fields.field === 2) {
      const name = fields.nested()
      while (name.next()) if (name.field === 3) found.stream = name.text()
    } else if (fields.field === 7) found.metadata = fields.content()
  }
  return found
}
