import { revisionFromWire, type ExpectedRevision } from '../streams/revision.ts'
import { FieldReader } from './protobuf.ts'

/** An event that a client wants to append. The byte fields are views of the request. */
export type ProposedEvent = {
  /** Lower-case text form of the UUID. */
  id: string
  type: string | undefined
  contentType: string | undefined
  data: Buffer
  metadata: Buffer
}

export type AppendOptions = {
  stream: string
  expected: ExpectedRevision | undefined
  /** Milliseconds since the epoch, or undefined without a deadline. */
  deadlineAt: number | undefined
}

/** One message of the `BatchAppend` call. */
export type BatchAppendMessage = {
  /** The UUID message as bytes. The answer returns it unchanged. */
  correlationId: Buffer
  /** Undefined in a message that continues an append. */
  options: AppendOptions | undefined
  events: ProposedEvent[]
  isFinal: boolean
}

const UUID_TEXT = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const EMPTY_UUID = '00000000-0000-0000-0000-000000000000'
const NO_BYTES = Buffer.alloc(0)

/** Bytes that the name of the stream takes in the log: each event has it. */
export function bytesOfNames(stream: string, events: readonly ProposedEvent[]): number {
  return Buffer.byteLength(stream) * events.length
}

/** A request that the server refuses as malformed. The client gets the message. */
export class BadRequestError extends Error {}

/** Reads a `BatchAppendReq`. Throws BadRequestError or MalformedMessageError. */
export function readBatchAppendMessage(bytes: Buffer): BatchAppendMessage {
  const message: BatchAppendMessage = { correlationId: NO_BYTES, options: undefined, events: [], isFinal: false }
  const fields = new FieldReader(bytes)
  while (fields.next()) {
    if (fields.field === 1) message.correlationId = fields.content()
    else if (fields.field === 2) message.options = readAppendOptions(fields.nested())
    else if (fields.field === 3) message.events.push(readProposedEvent(fields.nested()))
    else if (fields.field === 4) message.isFinal = fields.uint64() !== 0n
  }
  return message
}

/** Reads an `AppendReq`: the options come first, then one event per message. */
export function readAppendMessage(bytes: Buffer): AppendOptions | ProposedEvent | undefined {
  const fields = new FieldReader(bytes)
  while (fields.next()) {
    if (fields.field === 1) return readAppendOptions(fields.nested())
    if (fields.field === 2) return readProposedEvent(fields.nested())
  }
  return undefined
}

/** Text form of a UUID message. It is the key of an append in progress. Throws BadRequestError. */
export function readUuid(bytes: Buffer): string {
  const fields = new FieldReader(bytes)
  while (fields.next()) {
    if (fields.field === 2) {
      const text = fields.text().toLowerCase()
      if (!UUID_TEXT.test(text)) throw new BadRequestError('Unrecognized Guid format.')
      return text
    }
    if (fields.field === 1) return readStructuredUuid(fields.nested())
  }
  return EMPTY_UUID
}

function readStructuredUuid(fields: FieldReader): string {
  let most = 0n
  let least = 0n
  while (fields.next()) {
    if (fields.field === 1) most = fields.uint64()
    else if (fields.field === 2) least = fields.uint64()
  }
  const hex = most.toString(16).padStart(16, '0') + least.toString(16).padStart(16, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The field numbers of these options are equal in both append requests. */
function readAppendOptions(fields: FieldReader): AppendOptions {
  const options: AppendOptions = { stream: '', expected: undefined, deadlineAt: undefined }
  while (fields.next()) {
    if (fields.field === 1) options.stream = readStreamName(fields.nested())
    else if (fields.field === 2) options.expected = expectedRevision(fields.uint64())
    else if (fields.field === 3) options.expected = 'no_stream'
    else if (fields.field === 4) options.expected = 'any'
    else if (fields.field === 5) options.expected = 'stream_exists'
    else if (fields.field === 6) options.deadlineAt = readMilliseconds(fields.nested())
    else if (fields.field === 7) options.deadlineAt = Date.now() + readMilliseconds(fields.nested())
  }
  return options
}

function expectedRevision(wire: bigint): ExpectedRevision {
  if (wire === 0xffffffffffffffffn) return 'no_stream'
  if (wire > 0x7fffffffffffffffn)
    throw new BadRequestError("Specified argument was out of the range of valid values. (Parameter 'value')")
  return revisionFromWire(wire)
}

function readStreamName(fields: FieldReader): string {
  let name = ''
  while (fields.next()) if (fields.field === 3) name = fields.text()
  return name
}

/** `Timestamp` and `Duration` have the same layout. */
function readMilliseconds(fields: FieldReader): number {
  let seconds = 0n
  let nanos = 0n
  while (fields.next()) {
    if (fields.field === 1) seconds = BigInt.asIntN(64, fields.uint64())
    else if (fields.field === 2) nanos = fields.uint64()
  }
  return Number(seconds) * 1000 + Number(nanos) / 1e6
}

function readProposedEvent(fields: FieldReader): ProposedEvent {
  const event: ProposedEvent = {
    id: EMPTY_UUID,
    type: undefined,
    contentType: undefined,
    data: NO_BYTES,
    metadata: NO_BYTES,
  }
  while (fields.next()) {
    if (fields.field === 1) event.id = readUuid(fields.content())
    else if (fields.field === 2) readMetadataEntry(fields.nested(), event)
    else if (fields.field === 3) event.metadata = fields.content()
    else if (fields.field === 4) event.data = fields.content()
  }
  if (event.id === EMPTY_UUID) throw new BadRequestError("Empty eventId provided. (Parameter 'eventId')")
  return event
}

function readMetadataEntry(entry: FieldReader, event: ProposedEvent): void {
  let key = ''
  let value = ''
  while (entry.next()) {
    if (entry.field === 1) key = entry.text()
    else if (entry.field === 2) value = entry.text()
  }
  if (key === 'type') event.type = value
  else if (key === 'content-type') event.contentType = value
}
