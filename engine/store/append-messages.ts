import { streams, unpackToCommandError } from '../../platform/kit/event-store-client.ts'
import type { OutgoingEvent } from './codec.ts'
import type { StreamRevision, Position } from '../../platform/kit/positions.ts'
import { WireReader, type Span } from './wire-reader.ts'
import { WireWriter } from './wire-writer.ts'

export interface AppendRequest {
  readonly correlationId: string
  readonly stream: string
  readonly expected: StreamRevision | 'any'
  readonly events: readonly OutgoingEvent[]
  /** By the clock of the server. */
  readonly deadline: Date
}

export interface AppendReply {
  readonly correlationId: string
  readonly result: { readonly revision: bigint; readonly position: Position | undefined } | Error
}

/** Field numbers of the server's `streams.proto` and `shared.proto`. */
const request = { correlationId: 1, options: 2, message: 3, isFinal: 4 }
const options = { stream: 1, revision: 2, noStream: 3, any: 4, deadline: 6 }
const proposed = { id: 1, metadata: 2, customMetadata: 3, data: 4 }
const mapEntry = { key: 1, value: 2 }
const streamIdentifier = { name: 3 }
const timestamp = { seconds: 1 }
const uuid = { structured: 1, string: 2 }
const structuredUuid = { most: 1, least: 2 }
const response = { correlationId: 1, error: 2, success: 3 }
const success = { revision: 1, position: 3 }
const place = { commit: 1, prepare: 2 }

const nothing = new WireWriter()
const jsonContent = new WireWriter().text(mapEntry.key, 'content-type').text(mapEntry.value, 'application/json')

/**
 * One append as a single message of the `BatchAppend` call. The client's own encoding goes through base64 and builds
 * each event twice.
 */
export function appendMessage({ correlationId, stream, expected, events, deadline }: AppendRequest): Buffer {
  const asked = new WireWriter().message(options.stream, new WireWriter().text(streamIdentifier.name, stream))
  if (expected === 'any') asked.message(options.any, nothing)
  else if (expected === 'no_stream') asked.message(options.noStream, nothing)
  else asked.number(options.revision, expected)
  asked.message(options.deadline, new WireWriter().number(timestamp.seconds, Math.floor(deadline.getTime() / 1000)))
  const message = new WireWriter()
    .message(request.correlationId, new WireWriter().text(uuid.string, correlationId))
    .message(request.options, asked)
  for (const event of events) message.message(request.message, proposedEvent(event))
  return message.number(request.isFinal, 1).done()
}

function proposedEvent({ id, type, text, metadata }: OutgoingEvent): WireWriter {
  const event = new WireWriter()
    .message(proposed.id, new WireWriter().text(uuid.string, id))
    .message(proposed.metadata, new WireWriter().text(mapEntry.key, 'type').text(mapEntry.value, type))
    .message(proposed.metadata, jsonContent)
  if (metadata !== undefined) event.text(proposed.customMetadata, metadata)
  return event.text(proposed.data, text)
}

/**
 * Decodes the server's answer to an append of `streamOf`. A refusal becomes the client's own error. Throws if the
 * answer is unreadable.
 */
export function readAppendReply(message: Buffer, streamOf: (correlationId: string) => string): AppendReply {
  const reader = new WireReader(message)
  let correlationId = ''
  let written: Span | undefined
  let isError = false
  while (reader.next()) {
    if (reader.field === response.correlationId) correlationId = uuidIn(reader, reader.span())
    else if (reader.field === response.success) written = reader.span()
    else {
      isError ||= reader.field === response.error
      reader.skip()
    }
  }
  if (written !== undefined && !isError) return { correlationId, result: successIn(reader, written) }
  const error = streams.BatchAppendResp.deserializeBinary(message).getError()
  if (error === undefined) throw new Error('an answer of the event store is empty')
  // A refusal without details still belongs to this append only. It is no reason to give up other appends of the call.
  const result = error.hasDetails()
    ? unpackToCommandError(error, streamOf(correlationId))
    : new Error(`the event store refused an append: code ${error.getCode()}`)
  return { correlationId, result }
}

function successIn({ bytes }: WireReader, { start, end }: Span): AppendReply['result'] {
  const reader = new WireReader(bytes, start, end)
  let revision = 0n
  let position: Position | undefined
  while (reader.next()) {
    if (reader.field === success.revision) revision = BigInt(reader.number())
    else if (reader.field === success.position) position = positionIn(reader, reader.span())
    else reader.skip()
  }
  return { revision, position }
}

function positionIn({ bytes }: WireReader, { start, end }: Span): Position {
  const reader = new WireReader(bytes, start, end)
  let [commit, prepare] = [0n, 0n]
  while (reader.next()) {
    if (reader.field === place.commit) commit = BigInt(reader.number())
    else if (reader.field === place.prepare) prepare = BigInt(reader.number())
    else reader.skip()
  }
  return { commit, prepare }
}

/** EventStoreDB answers with two integers where the request had text. */
function uuidIn(outer: WireReader, span: Span): string {
  const text = outer.within(span, uuid.string)
  if (text !== undefined) return outer.bytes.toString('utf8', text.start, text.end)
  const structured = outer.within(span, uuid.structured)
  if (structured === undefined) return ''
  const reader = new WireReader(outer.bytes, structured.start, structured.end)
  let [most, least] = [0n, 0n]
  while (reader.next()) {
    if (reader.field === structuredUuid.most) most = BigInt.asUintN(64, BigInt(reader.number()))
    else if (reader.field === structuredUuid.least) least = BigInt.asUintN(64, BigInt(reader.number()))
    else reader.skip()
  }
  const hex = most.toString(16).padStart(16, '0') + least.toString(16).padStart(16, '0')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
