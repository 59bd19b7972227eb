import streams from '@eventstore/db-client/generated/streams_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import type { Status } from '@eventstore/db-client/generated/status_pb.js'
import { NO_POSITION, NO_STREAM, revisionToWire, type ExpectedRevision } from '../streams/revision.ts'
import type { WriteOutcome } from '../streams/append.ts'
import { fieldLength, varintLength, writeField, writeFieldHeader, writeVarint } from './protobuf.ts'

const CORRELATION_ID = 0x0a
const ERROR = 0x12
const SUCCESS = 0x1a
const STREAM_IDENTIFIER = 0x22
const STREAM_NAME = 0x1a
const CURRENT_REVISION = 0x08
const NO_STREAM_FIELD = 0x12
const POSITION = 0x1a
const NO_POSITION_FIELD = 0x22
const COMMIT = 0x08
const PREPARE = 0x10

type Success = Extract<WriteOutcome, { kind: 'success' }>

/** `BatchAppendResp` of a success. It is written by hand, because it is the most frequent answer of the node. */
export function batchSuccess(correlationId: Buffer, stream: string, outcome: Success): Buffer {
  const positionLength = outcome.position === NO_POSITION ? 0 : 2 * (1 + varintLength(outcome.position))
  const revisionLength = outcome.revision === NO_STREAM ? 2 : 1 + varintLength(outcome.revision)
  const successLength = revisionLength + fieldLength(positionLength)
  const reply = startReply(correlationId, stream, fieldLength(successLength))
  let at = writeFieldHeader(reply.bytes, SUCCESS, successLength, reply.at)
  if (outcome.revision === NO_STREAM) at = writeFieldHeader(reply.bytes, NO_STREAM_FIELD, 0, at)
  else {
    reply.bytes[at] = CURRENT_REVISION
    at = writeVarint(reply.bytes, outcome.revision, at + 1)
  }
  if (outcome.position === NO_POSITION) {
    writeFieldHeader(reply.bytes, NO_POSITION_FIELD, 0, at)
    return reply.bytes
  }
  at = writeFieldHeader(reply.bytes, POSITION, positionLength, at)
  reply.bytes[at] = COMMIT
  at = writeVarint(reply.bytes, outcome.position, at + 1)
  reply.bytes[at] = PREPARE
  writeVarint(reply.bytes, outcome.position, at + 1)
  return reply.bytes
}

/** `BatchAppendResp` of a refusal. */
export function batchError(correlationId: Buffer, stream: string, error: Status): Buffer {
  const content = error.serializeBinary()
  const reply = startReply(correlationId, stream, fieldLength(content.length))
  writeField(reply.bytes, ERROR, content, reply.at)
  return reply.bytes
}

/** `AppendResp` of a success. */
export function appendSuccess(outcome: Success): Buffer {
  const success = new streams.AppendResp.Success()
  if (outcome.revision === NO_STREAM) success.setNoStream(new shared.Empty())
  else success.setCurrentRevision(revisionToWire(outcome.revision))
  const position = String(outcome.position)
  if (outcome.position === NO_POSITION) success.setNoPosition(new shared.Empty())
  else success.setPosition(new streams.AppendResp.Position().setCommitPosition(position).setPreparePosition(position))
  return Buffer.from(new streams.AppendResp().setSuccess(success).serializeBinary())
}

/** `AppendResp` of a conflict. */
export function appendConflict(expected: ExpectedRevision, head: number): Buffer {
  const conflict = new streams.AppendResp.WrongExpectedVersion()
  if (expected === 'any') conflict.setExpectedAny(new shared.Empty())
  else if (expected === 'no_stream') conflict.setExpectedNoStream(new shared.Empty())
  else if (expected === 'stream_exists') conflict.setExpectedStreamExists(new shared.Empty())
  else conflict.setExpectedRevision(revisionToWire(expected))
  if (head === NO_STREAM) conflict.setCurrentNoStream(new shared.Empty())
  else conflict.setCurrentRevision(revisionToWire(head))
  return Buffer.from(new streams.AppendResp().setWrongExpectedVersion(conflict).serializeBinary())
}

/** Every reply contains the correlation id and the stream. `at` is the offset of the result between them. */
function startReply(correlationId: Buffer, stream: string, resultLength: number): { bytes: Buffer; at: number } {
  const nameLength = Buffer.byteLength(stream, 'utf8')
  const bytes = Buffer.allocUnsafe(
    fieldLength(correlationId.length) + resultLength + fieldLength(fieldLength(nameLength)),
  )
  const at = writeField(bytes, CORRELATION_ID, correlationId, 0)
  const nameAt = writeFieldHeader(
    bytes,
    STREAM_NAME,
    nameLength,
    writeFieldHeader(bytes, STREAM_IDENTIFIER, fieldLength(nameLength), at + resultLength),
  )
  bytes.write(stream, nameAt, 'utf8')
  return { bytes, at }
}
