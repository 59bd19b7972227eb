import { Metadata, status } from '@grpc/grpc-js'
import anyMessages from 'google-protobuf/google/protobuf/any_pb.js'
import emptyMessages from 'google-protobuf/google/protobuf/empty_pb.js'
import code from '@eventstore/db-client/generated/code_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import statusMessages from '@eventstore/db-client/generated/status_pb.js'
import type { Message } from 'google-protobuf'
import { CorruptIndexError, CorruptLogError, NoRoomError } from '../log/log-errors.ts'
import { revisionToWire, type ExpectedRevision } from '../streams/revision.ts'
import { BadRequestError } from './append-request.ts'
import { MalformedMessageError } from './protobuf.ts'

/** Largest append in bytes of event data. */
export const MAX_APPEND_SIZE = 1 << 20
/**
 * Largest message in bytes, and most that one call holds of appends that are not complete. Exceeds the largest append,
 * so that an oversized append is refused with its own error.
 */
export const LARGEST_REQUEST = 32 << 20

const NO_ROOM = 'NoRoomOnDisk'

/** An error that ends a call. grpc-js sends code, details and metadata (as trailers). */
export class CallError extends Error {
  readonly code: status
  readonly details: string
  readonly metadata: Metadata

  constructor(callStatus: status, details: string, trailers: Record<string, string> = {}) {
    super(details)
    this.code = callStatus
    this.details = details
    this.metadata = new Metadata()
    for (const [key, value] of Object.entries(trailers)) this.metadata.set(key, value.replace(/[^\x20-\x7e]/g, '?'))
  }
}

export function streamDeleted(stream: string): CallError {
  return new CallError(status.FAILED_PRECONDITION, `Event stream '${stream}' is deleted.`, {
    exception: 'stream-deleted',
    'stream-name': stream,
  })
}

export function wrongExpectedVersion(
  operation: string,
  stream: string,
  expected: ExpectedRevision,
  head: number,
): CallError {
  const details = `${operation} failed due to WrongExpectedVersion. Stream: ${stream}, Expected version: ${expectedToInt64(expected)}, Actual version: ${head}`
  return new CallError(status.FAILED_PRECONDITION, details, {
    exception: 'wrong-expected-version',
    'stream-name': stream,
    'expected-version': expectedToInt64(expected),
    'actual-version': String(head),
  })
}

export function maxAppendSizeExceeded(): CallError {
  return new CallError(status.INVALID_ARGUMENT, `Maximum Append Size of ${MAX_APPEND_SIZE} Exceeded.`, {
    exception: 'maximum-append-size-exceeded',
    'maximum-append-size': String(MAX_APPEND_SIZE),
  })
}

export function missingMetadataProperty(property: string): CallError {
  return new CallError(status.INVALID_ARGUMENT, `Required Metadata Property '${property}' is missing`, {
    exception: 'missing-required-metadata-property',
    'required-metadata-properties': 'type,content-type',
  })
}

export function accessDenied(): CallError {
  return new CallError(status.PERMISSION_DENIED, 'Access Denied', { exception: 'access-denied' })
}

export function invalidArgument(details: string): CallError {
  return new CallError(status.INVALID_ARGUMENT, details)
}

/** The server's answer when its handler throws. It does not include the reason. */
export function handlerFailed(): CallError {
  return new CallError(status.UNKNOWN, 'Exception was thrown by handler.')
}

export function unknownError(details: string): CallError {
  return new CallError(status.UNKNOWN, details)
}

/** Converts any thrown value to the error that ends a call. Damage of the log keeps its own code. */
export function toCallError(error: unknown): CallError {
  if (error instanceof CallError) return error
  if (error instanceof BadRequestError || error instanceof MalformedMessageError) return handlerFailed()
  if (error instanceof NoRoomError) return new CallError(status.RESOURCE_EXHAUSTED, NO_ROOM)
  const message = error instanceof Error ? error.message : String(error)
  return new CallError(
    error instanceof CorruptLogError || error instanceof CorruptIndexError ? status.DATA_LOSS : status.UNKNOWN,
    message,
  )
}

/** The `Status` messages in answers to a batch append. */
export function batchWrongExpectedVersion(expected: ExpectedRevision, head: number): statusMessages.Status {
  const details = new shared.WrongExpectedVersion()
  if (head < 0) details.setCurrentNoStream(new emptyMessages.Empty())
  else details.setCurrentStreamRevision(revisionToWire(head))
  if (expected === 'any') details.setExpectedAny(new emptyMessages.Empty())
  else if (expected === 'no_stream') details.setExpectedNoStream(new emptyMessages.Empty())
  else if (expected === 'stream_exists') details.setExpectedStreamExists(new emptyMessages.Empty())
  else details.setExpectedStreamPosition(revisionToWire(expected))
  return batchStatus(
    code.Code.ALREADY_EXISTS,
    'WrongExpectedVersion',
    details,
    'event_store.client.WrongExpectedVersion',
  )
}

export function batchStreamDeleted(stream: string): statusMessages.Status {
  const identifier = new shared.StreamIdentifier()
  identifier.setStreamName(Buffer.from(stream, 'utf8'))
  const details = new shared.StreamDeleted()
  details.setStreamIdentifier(identifier)
  return batchStatus(code.Code.NOT_FOUND, 'StreamDeleted', details, 'event_store.client.StreamDeleted')
}

export function batchAccessDenied(): statusMessages.Status {
  return batchStatus(
    code.Code.PERMISSION_DENIED,
    'AccessDenied',
    new shared.AccessDenied(),
    'event_store.client.AccessDenied',
  )
}

export function batchTimeout(): statusMessages.Status {
  return batchStatus(code.Code.DEADLINE_EXCEEDED, 'Timeout', new shared.Timeout(), 'event_store.client.Timeout')
}

export function batchMaxAppendSizeExceeded(): statusMessages.Status {
  const details = new shared.MaximumAppendSizeExceeded()
  details.setMaxappendsize(MAX_APPEND_SIZE)
  return batchStatus(
    code.Code.INVALID_ARGUMENT,
    'MaximumAppendSizeExceeded',
    details,
    'event_store.client.MaximumAppendSizeExceeded',
  )
}

export function batchBadRequest(message: string): statusMessages.Status {
  const details = new shared.BadRequest()
  details.setMessage(message)
  return batchStatus(code.Code.INVALID_ARGUMENT, 'BadRequest', details, 'event_store.client.BadRequest')
}

/**
 * Nothing was written, for lack of room on the disk. The protocol has no details for that. Clients show the message.
 */
export function batchNoRoom(): statusMessages.Status {
  const details = new shared.BadRequest()
  details.setMessage(NO_ROOM)
  return batchStatus(code.Code.RESOURCE_EXHAUSTED, NO_ROOM, details, 'event_store.client.BadRequest')
}

/** The node itself failed. The outcome is unknown to the client. */
export function batchUnknown(): statusMessages.Status {
  return batchStatus(code.Code.UNKNOWN, 'Unknown', new shared.Unknown(), 'event_store.client.Unknown')
}

function batchStatus(
  statusCode: code.Code,
  message: string,
  details: Message,
  typeName: string,
): statusMessages.Status {
  const any = new anyMessages.Any()
  any.pack(details.serializeBinary(), typeName)
  const answer = new statusMessages.Status()
  answer.setCode(statusCode)
  answer.setMessage(message)
  answer.setDetails(any)
  return answer
}

function expectedToInt64(expected: ExpectedRevision): string {
  if (expected === 'any') return '-2'
  if (expected === 'no_stream') return '-1'
  if (expected === 'stream_exists') return '-4'
  return revisionToWire(expected)
}
