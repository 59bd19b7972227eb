import type { Deadline, Metadata, ServerReadableStream, ServerUnaryCall, sendUnaryData } from '@grpc/grpc-js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type shared from '@eventstore/db-client/generated/shared_pb.js'
import { bytesOfNames, readAppendMessage, type AppendOptions, type ProposedEvent } from '../wire/append-request.ts'
import { appendConflict, appendSuccess } from '../wire/append-reply.ts'
import type { AccessControl } from '../access/access-control.ts'
import {
  LARGEST_REQUEST,
  MAX_APPEND_SIZE,
  handlerFailed,
  invalidArgument,
  maxAppendSizeExceeded,
  missingMetadataProperty,
  streamDeleted,
  toCallError,
  wrongExpectedVersion,
  type CallError,
} from '../wire/errors.ts'
import { append, softDelete, tombstone, type WriteOutcome } from '../streams/append.ts'
import { revisionFromWire, type ExpectedRevision } from '../streams/revision.ts'
import type { StreamStore } from '../streams/stream-store.ts'

type Reply = sendUnaryData<Buffer>

/** A deadline closer than this would pass before the answer reaches the client. grpc-js then ends the call. */
const LEAST_TIME_LEFT_MS = 25

/**
 * The `Append` call is one append: options first, then one event per message. The options decide who may append, so no
 * event is kept before them. Metadata does not count as data, but it takes memory: `size` counts the data, `held` all.
 */
export function appendCall(
  store: StreamStore,
  access: AccessControl,
  call: ServerReadableStream<Buffer, Buffer>,
  reply: Reply,
): void {
  let options: AppendOptions | undefined
  const events: ProposedEvent[] = []
  let size = 0
  let held = 0
  let isAnswered = false
  const answer: Reply = (error, value) => {
    if (!isAnswered) reply(error, value)
    isAnswered = true
  }
  call.on('data', (bytes: Buffer) => {
    if (isAnswered) return
    try {
      const message = readAppendMessage(bytes)
      if (message !== undefined && 'expected' in message) {
        if (message.expected === undefined) throw noExpectedRevision()
        access.requireStream(call.metadata, 'write', message.stream)
        options = message
        return
      }
      if (message === undefined || options === undefined) throw handlerFailed()
      if (message.type === undefined) throw missingMetadataProperty('type')
      if (message.contentType === undefined) throw missingMetadataProperty('content-type')
      if (message.type === '') throw handlerFailed()
      size += message.data.length
      held += bytes.length
      if (size > MAX_APPEND_SIZE || held > LARGEST_REQUEST) throw maxAppendSizeExceeded()
      events.push(message)
    } catch (error) {
      answer(toCallError(error))
    }
  })
  call.on('error', () => (isAnswered = true))
  const finish = (): void => {
    if (isAnswered) return
    try {
      if (options?.expected === undefined) throw noExpectedRevision()
      if (options.stream === '') throw handlerFailed()
      const { stream, expected } = options
      if (bytesOfNames(stream, events) > LARGEST_REQUEST) throw maxAppendSizeExceeded()
      append(store, stream, expected, events, (outcome) => {
        if (outcome.kind === 'success') answer(null, appendSuccess(outcome))
        else if (outcome.kind === 'deleted') answer(streamDeleted(stream))
        else answer(null, appendConflict(expected, outcome.head))
      })
    } catch (error) {
      answer(toCallError(error))
    }
  }
  call.on('end', () => whenWhole(call, finish))
}

/**
 * A request that its deadline or a lost connection cuts off ends like a complete one. A part of an append must never be
 * written. Only a cancellation is sometimes noticed too late, as on the server.
 */
function whenWhole(call: ServerReadableStream<Buffer, Buffer>, proceed: () => void): void {
  if (isTooLate(call)) return
  setImmediate(() => {
    if (!call.cancelled) proceed()
  })
}

function isTooLate(call: { getDeadline(): Deadline }): boolean {
  return Number(call.getDeadline()) - Date.now() < LEAST_TIME_LEFT_MS
}

/** The `Delete` call: a soft delete. */
export function deleteCall(
  store: StreamStore,
  access: AccessControl,
  call: ServerUnaryCall<streams.DeleteReq, Buffer>,
  reply: Reply,
): void {
  const options = call.request.getOptions()
  if (isTooLate(call)) return
  end('Delete', softDelete, { store, access, call }, options, reply, (position) => {
    const answer = new streams.DeleteResp.Position().setCommitPosition(position).setPreparePosition(position)
    return new streams.DeleteResp().setPosition(answer).serializeBinary()
  })
}

/** The `Tombstone` call: a permanent delete. */
export function tombstoneCall(
  store: StreamStore,
  access: AccessControl,
  call: ServerUnaryCall<streams.TombstoneReq, Buffer>,
  reply: Reply,
): void {
  const options = call.request.getOptions()
  if (isTooLate(call)) return
  end('Delete', tombstone, { store, access, call }, options, reply, (position) => {
    const answer = new streams.TombstoneResp.Position().setCommitPosition(position).setPreparePosition(position)
    return new streams.TombstoneResp().setPosition(answer).serializeBinary()
  })
}

type DeleteOptions = {
  getStreamIdentifier(): shared.StreamIdentifier | undefined
  hasRevision(): boolean
  getRevision(): string
  hasNoStream(): boolean
  hasAny(): boolean
  hasStreamExists(): boolean
}

function end(
  operation: string,
  write: typeof softDelete,
  { store, access, call }: { store: StreamStore; access: AccessControl; call: { metadata: Metadata } },
  options: DeleteOptions | undefined,
  reply: Reply,
  answerOf: (position: string) => Uint8Array,
): void {
  try {
    const expected = options === undefined ? undefined : expectedOf(options)
    const stream = Buffer.from(options?.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8')
    if (expected === undefined) throw noExpectedRevision()
    access.requireStream(call.metadata, 'delete', stream)
    if (stream === '') throw handlerFailed()
    write(store, stream, expected, (outcome: WriteOutcome) => {
      if (outcome.kind === 'success') reply(null, Buffer.from(answerOf(String(outcome.position))))
      else if (outcome.kind === 'deleted') reply(streamDeleted(stream))
      else reply(wrongExpectedVersion(operation, stream, expected, outcome.head))
    })
  } catch (error) {
    reply(toCallError(error))
  }
}

function noExpectedRevision(): CallError {
  return invalidArgument("'None' is not a valid expected stream revision")
}

function expectedOf(options: DeleteOptions): ExpectedRevision | undefined {
  if (options.hasRevision()) return revisionFromWire(BigInt(options.getRevision()))
  if (options.hasNoStream()) return 'no_stream'
  if (options.hasAny()) return 'any'
  return options.hasStreamExists() ? 'stream_exists' : undefined
}
