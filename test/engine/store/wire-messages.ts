import shared from '@eventstore/db-client/generated/shared_pb.js'
import statusMessages from '@eventstore/db-client/generated/status_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { BatchAppendReq, BatchAppendResp, ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import anyMessages from 'google-protobuf/google/protobuf/any_pb.js'
import emptyMessages from 'google-protobuf/google/protobuf/empty_pb.js'

export interface WireEvent {
  readonly id: string
  readonly stream: string
  readonly type: string
  readonly revision: number
  readonly position: number
  /** Stored bytes, as text. */
  readonly data: string
  readonly metadata: string
}

export function wireEvent(event: WireEvent): ReadResp {
  const recorded = new streams.ReadResp.ReadEvent.RecordedEvent()
  const id = new shared.UUID()
  id.setString(event.id)
  recorded.setId(id)
  recorded.setStreamIdentifier(identifier(event.stream))
  recorded.setStreamRevision(String(event.revision))
  recorded.setCommitPosition(String(event.position))
  recorded.setPreparePosition(String(event.position))
  recorded
    .getMetadataMap()
    .set('type', event.type)
    .set('content-type', 'application/json')
    .set('created', '17000000000000000')
  recorded.setData(Buffer.from(event.data).toString('base64'))
  recorded.setCustomMetadata(Buffer.from(event.metadata).toString('base64'))
  const read = new streams.ReadResp.ReadEvent()
  read.setEvent(recorded)
  read.setCommitPosition(String(event.position))
  const response = new streams.ReadResp()
  response.setEvent(read)
  return response
}

export function confirmation(): ReadResp {
  const response = new streams.ReadResp()
  const confirmed = new streams.ReadResp.SubscriptionConfirmation()
  confirmed.setSubscriptionId('scripted')
  response.setConfirmation(confirmed)
  return response
}

export function checkpoint(position: number): ReadResp {
  const response = new streams.ReadResp()
  const reached = new streams.ReadResp.Checkpoint()
  reached.setCommitPosition(String(position))
  reached.setPreparePosition(String(position))
  response.setCheckpoint(reached)
  return response
}

export function caughtUp(): ReadResp {
  const response = new streams.ReadResp()
  response.setCaughtUp(new streams.ReadResp.CaughtUp())
  return response
}

export function fellBehind(): ReadResp {
  const response = new streams.ReadResp()
  response.setFellBehind(new streams.ReadResp.FellBehind())
  return response
}

export function appended(request: BatchAppendReq, revision: number, position: number): BatchAppendResp {
  const success = new streams.BatchAppendResp.Success()
  success.setCurrentRevision(String(revision))
  const at = new shared.AllStreamPosition()
  at.setCommitPosition(String(position))
  at.setPreparePosition(String(position))
  success.setPosition(at)
  const response = answerTo(request)
  response.setSuccess(success)
  return response
}

export function wrongVersion(request: BatchAppendReq, actual: number): BatchAppendResp {
  const details = new shared.WrongExpectedVersion()
  details.setCurrentStreamRevision(String(actual))
  details.setExpectedNoStream(new emptyMessages.Empty())
  return failure(request, 'WrongExpectedVersion', details.serializeBinary())
}

export function timedOut(request: BatchAppendReq): BatchAppendResp {
  return failure(request, 'Timeout', new shared.Timeout().serializeBinary())
}

export function accessDenied(request: BatchAppendReq): BatchAppendResp {
  return failure(request, 'AccessDenied', new shared.AccessDenied().serializeBinary())
}

export function tooLarge(request: BatchAppendReq): BatchAppendResp {
  const details = new shared.MaximumAppendSizeExceeded()
  details.setMaxappendsize(1_048_576)
  return failure(request, 'MaximumAppendSizeExceeded', details.serializeBinary())
}

export function withoutRoom(request: BatchAppendReq): BatchAppendResp {
  const details = new shared.BadRequest()
  details.setMessage('NoRoomOnDisk')
  const response = failure(request, 'BadRequest', details.serializeBinary())
  response.getError()?.setMessage('NoRoomOnDisk')
  return response
}

function failure(request: BatchAppendReq, name: string, details: Uint8Array): BatchAppendResp {
  const any = new anyMessages.Any()
  any.pack(details, `event_store.client.${name}`)
  const status = new statusMessages.Status()
  status.setMessage(name)
  status.setDetails(any)
  const response = answerTo(request)
  response.setError(status)
  return response
}

function answerTo(request: BatchAppendReq): BatchAppendResp {
  const response = new streams.BatchAppendResp()
  response.setCorrelationId(request.getCorrelationId())
  response.setStreamIdentifier(request.getOptions()?.getStreamIdentifier())
  return response
}

function identifier(stream: string) {
  const name = new shared.StreamIdentifier()
  name.setStreamName(Buffer.from(stream).toString('base64'))
  return name
}
