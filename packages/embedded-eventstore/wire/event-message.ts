import { DELETED_STREAM, DELETED_STREAM_WIRE } from '../streams/revision.ts'
import type { ProposedEvent } from './append-request.ts'
import { fieldLength, varintLength, writeField, writeFieldHeader, writeVarint } from './protobuf.ts'

/*
 * A stored event is the `ReadResp` that a read sends, byte for byte:
 *
 *   ReadResp { event: ReadEvent { event: RecordedEvent { … }, commit_position } }
 *
 * A resolved link is sent with its target record. The message is built from the two stored ones.
 */

const EVENT = 0x0a
const LINK = 0x12
const RECORD_ID = 0x0a
const RECORD_STREAM = 0x12
const RECORD_REVISION = 0x18
const RECORD_COMMIT = 0x20
const RECORD_PREPARE = 0x28
const RECORD_METADATA = 0x32
const RECORD_CUSTOM_METADATA = 0x3a
const RECORD_DATA = 0x42
const READ_EVENT_COMMIT = 0x18
const STREAM_NAME = 0x1a
const UUID_STRING = 0x12

/** Length of the id field at the start of every record: tag, length, tag, length, 36 characters. */
const ID_FIELD_LENGTH = 40
const DELETED_REVISION = BigInt.asUintN(64, DELETED_STREAM_WIRE)
const JSON_CONTENT = 'application/json'
const BINARY_CONTENT = 'application/octet-stream'
const TICKS_PER_MILLISECOND = 10_000n

/** The parts that all events of one append share, ready to copy into each event. */
export type AppendContext = { streamField: Buffer; createdEntry: Buffer }

/** Offsets of the parts of a stored event from the start of its message. */
export type EventLayout = {
  recordStart: number
  typeStart: number
  typeLength: number
  dataStart: number
  dataLength: number
  length: number
}

/** An event ready to write: sizes are fixed, the position is open. */
export type PlannedEvent = {
  event: ProposedEvent
  revision: number
  type: Buffer
  contentType: Buffer
  lengthWithoutPositions: number
}

/** Prepares the parts that all events of an append share. `createdAt` is in milliseconds since the epoch. */
export function appendContext(stream: string, createdAt: number): AppendContext {
  const name = Buffer.from(stream, 'utf8')
  const streamField = Buffer.allocUnsafe(fieldLength(fieldLength(name.length)))
  writeField(streamField, STREAM_NAME, name, writeFieldHeader(streamField, RECORD_STREAM, fieldLength(name.length), 0))
  const ticks = (BigInt(createdAt) * TICKS_PER_MILLISECOND).toString()
  return { streamField, createdEntry: metadataEntry('created', Buffer.from(ticks, 'latin1')) }
}

const JSON_ENTRY = metadataEntry('content-type', Buffer.from(JSON_CONTENT))
const BINARY_ENTRY = metadataEntry('content-type', Buffer.from(BINARY_CONTENT))

/** Whether the event is stored as JSON; everything else is octets. */
export function isJson(event: ProposedEvent): boolean {
  return event.contentType === JSON_CONTENT
}

/** Computes the sizes of one event of an append. */
export function planEvent(context: AppendContext, event: ProposedEvent, revision: number): PlannedEvent {
  const type = Buffer.from(event.type ?? '', 'utf8')
  const contentType = isJson(event) ? JSON_ENTRY : BINARY_ENTRY
  const lengthWithoutPositions =
    ID_FIELD_LENGTH +
    context.streamField.length +
    1 +
    revisionLength(revision) +
    fieldLength(6 + fieldLength(type.length)) +
    context.createdEntry.length +
    contentType.length +
    (event.metadata.length > 0 ? fieldLength(event.metadata.length) : 0) +
    (event.data.length > 0 ? fieldLength(event.data.length) : 0)
  return { event, revision, type, contentType, lengthWithoutPositions }
}

/** Length of the whole message for an event at `position`. */
export function messageLength(planned: PlannedEvent, position: number): number {
  const record = planned.lengthWithoutPositions + 2 * (1 + varintLength(position))
  return fieldLength(fieldLength(record) + 1 + varintLength(position))
}

/** Writes the message at `offset` of `target` and returns the offsets of its parts. */
export function writeMessage(
  target: Buffer,
  offset: number,
  context: AppendContext,
  planned: PlannedEvent,
  position: number,
): EventLayout {
  const positionLength = varintLength(position)
  const recordLength = planned.lengthWithoutPositions + 2 * (1 + positionLength)
  let at = writeFieldHeader(target, EVENT, fieldLength(recordLength) + 1 + positionLength, offset)
  at = writeFieldHeader(target, EVENT, recordLength, at)
  const recordStart = at - offset
  at = writeId(target, planned.event.id, at)
  at += context.streamField.copy(target, at)
  target[at] = RECORD_REVISION
  at = writeRevision(target, planned.revision, at + 1)
  target[at] = RECORD_COMMIT
  at = writeVarint(target, position, at + 1)
  target[at] = RECORD_PREPARE
  at = writeVarint(target, position, at + 1)
  at = writeFieldHeader(target, RECORD_METADATA, 6 + fieldLength(planned.type.length), at)
  at = writeField(target, 0x0a, TYPE_KEY, at)
  at = writeField(target, 0x12, planned.type, at)
  const typeStart = at - offset - planned.type.length
  at += context.createdEntry.copy(target, at)
  at += planned.contentType.copy(target, at)
  const { metadata, data } = planned.event
  if (metadata.length > 0) at = writeField(target, RECORD_CUSTOM_METADATA, metadata, at)
  if (data.length > 0) at = writeField(target, RECORD_DATA, data, at)
  const dataStart = at - offset - data.length
  target[at] = READ_EVENT_COMMIT
  at = writeVarint(target, position, at + 1)
  return {
    recordStart,
    typeStart,
    typeLength: planned.type.length,
    dataStart,
    dataLength: data.length,
    length: at - offset,
  }
}

/** The `RecordedEvent` inside a stored event's message, as a view. */
export function recordedEventBytes(message: Buffer, layout: EventLayout): Buffer {
  return message.subarray(layout.recordStart, layout.dataStart + layout.dataLength)
}

/** A record with its id as two integers, the form that some clients request. */
export function withStructuredId(record: Buffer): Buffer {
  return Buffer.concat([structuredId(record.toString('latin1', 4, ID_FIELD_LENGTH)), record.subarray(ID_FIELD_LENGTH)])
}

/** `ReadResp` of an event, of a link and its target event, or of a link without a target. */
export function readEventMessage(event: Buffer | undefined, link: Buffer | undefined, position: number): Buffer {
  const eventLength = event === undefined ? 0 : fieldLength(event.length)
  const linkLength = link === undefined ? 0 : fieldLength(link.length)
  const content = eventLength + linkLength + 1 + varintLength(position)
  const message = Buffer.allocUnsafe(fieldLength(content))
  let at = writeFieldHeader(message, EVENT, content, 0)
  if (event !== undefined) at = writeField(message, EVENT, event, at)
  if (link !== undefined) at = writeField(message, LINK, link, at)
  message[at] = READ_EVENT_COMMIT
  writeVarint(message, position, at + 1)
  return message
}

/** Id of a stored event as lower-case text. */
export function eventId(message: Buffer, layout: EventLayout): string {
  return message.toString('latin1', layout.recordStart + 4, layout.recordStart + ID_FIELD_LENGTH)
}

const TYPE_KEY = Buffer.from('type')

function metadataEntry(key: string, value: Buffer): Buffer {
  const content = fieldLength(key.length) + fieldLength(value.length)
  const entry = Buffer.allocUnsafe(fieldLength(content))
  const at = writeField(entry, 0x0a, Buffer.from(key), writeFieldHeader(entry, RECORD_METADATA, content, 0))
  writeField(entry, 0x12, value, at)
  return entry
}

function writeId(target: Buffer, id: string, offset: number): number {
  const at = writeFieldHeader(target, UUID_STRING, 36, writeFieldHeader(target, RECORD_ID, 38, offset))
  target.write(id, at, 36, 'latin1')
  return at + 36
}

function structuredId(id: string): Buffer {
  const hex = id.replaceAll('-', '')
  const most = BigInt(`0x${hex.slice(0, 16)}`)
  const least = BigInt(`0x${hex.slice(16)}`)
  const structured = Buffer.concat([Buffer.from([0x08]), bigVarint(most), Buffer.from([0x10]), bigVarint(least)])
  const uuid = Buffer.allocUnsafe(fieldLength(structured.length))
  writeField(uuid, 0x0a, structured, 0)
  const field = Buffer.allocUnsafe(fieldLength(uuid.length))
  writeField(field, RECORD_ID, uuid, 0)
  return field
}

function bigVarint(value: bigint): Buffer {
  const bytes: number[] = []
  let rest = value
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80)
    rest >>= 7n
  }
  return Buffer.from([...bytes, Number(rest)])
}

function revisionLength(revision: number): number {
  return revision === DELETED_STREAM ? bigVarint(DELETED_REVISION).length : varintLength(revision)
}

function writeRevision(target: Buffer, revision: number, offset: number): number {
  if (revision === DELETED_STREAM) return offset + bigVarint(DELETED_REVISION).copy(target, offset)
  return writeVarint(target, revision, offset)
}
