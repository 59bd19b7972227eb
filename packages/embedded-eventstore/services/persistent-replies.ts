import persistent from '@eventstore/db-client/generated/persistent_pb.js'
import type { StoredEvent } from '../log/frame.ts'
import type { ResolvedEvent } from '../streams/links.ts'
import { recordedEventBytes, withStructuredId } from '../wire/event-message.ts'
import { fieldLength, varintLength, writeField, writeFieldHeader, writeVarint } from '../wire/protobuf.ts'

const EVENT = 0x0a
const LINK = 0x12
const COMMIT_POSITION = 0x18
const RETRY_COUNT = 0x28
const RECORD_COMMIT = 0x20
const RECORD_PREPARE = 0x28

/** The first `ReadResp` for a consumer. */
export function confirmation(subscriptionId: string): Buffer {
  const confirmed = new persistent.ReadResp.SubscriptionConfirmation().setSubscriptionId(subscriptionId)
  return Buffer.from(new persistent.ReadResp().setSubscriptionConfirmation(confirmed).serializeBinary())
}

/** `ReadResp` of a message with the number of its earlier deliveries. */
export function delivery({ event, link }: ResolvedEvent, retries: number, structuredIds: boolean): Buffer {
  const position = (link ?? event)?.position ?? 0
  const record = (stored: StoredEvent | undefined): Buffer | undefined => {
    if (stored === undefined) return undefined
    const bytes = recordedEventBytes(stored.message, stored.layout)
    return structuredIds ? withStructuredId(bytes) : bytes
  }
  const eventRecord = event === undefined || link === undefined ? record(event) : atPosition(record(event), position)
  return readEvent(eventRecord, record(link), position, retries)
}

function readEvent(event: Buffer | undefined, link: Buffer | undefined, position: number, retries: number): Buffer {
  const parts =
    (event === undefined ? 0 : fieldLength(event.length)) + (link === undefined ? 0 : fieldLength(link.length))
  const content = parts + 1 + varintLength(position) + 1 + varintLength(retries)
  const message = Buffer.allocUnsafe(fieldLength(content))
  let at = writeFieldHeader(message, EVENT, content, 0)
  if (event !== undefined) at = writeField(message, EVENT, event, at)
  if (link !== undefined) at = writeField(message, LINK, link, at)
  message[at] = COMMIT_POSITION
  at = writeVarint(message, position, at + 1)
  message[at] = RETRY_COUNT
  writeVarint(message, retries, at + 1)
  return message
}

/**
 * As on the server, the event of a link gets the position of the link. If a field occurs twice, the last one counts.
 */
function atPosition(record: Buffer | undefined, position: number): Buffer | undefined {
  if (record === undefined) return undefined
  const fields = Buffer.allocUnsafe(2 * (1 + varintLength(position)))
  fields[0] = RECORD_COMMIT
  const at = writeVarint(fields, position, 1)
  fields[at] = RECORD_PREPARE
  writeVarint(fields, position, at + 1)
  return Buffer.concat([record, fields])
}
