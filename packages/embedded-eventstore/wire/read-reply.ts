import streams from '@eventstore/db-client/generated/streams_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import { revisionToWire } from '../streams/revision.ts'

/** `ReadResp` messages other than events, as bytes. */

export function subscriptionConfirmed(subscriptionId: string): Buffer {
  const confirmation = new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(subscriptionId)
  return bytesOf(new streams.ReadResp().setConfirmation(confirmation))
}

export function checkpointReached(position: number): Buffer {
  const checkpoint = new streams.ReadResp.Checkpoint()
    .setCommitPosition(String(position))
    .setPreparePosition(String(position))
  return bytesOf(new streams.ReadResp().setCheckpoint(checkpoint))
}

export function caughtUp(): Buffer {
  return bytesOf(new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp()))
}

export function streamNotFound(stream: string): Buffer {
  const identifier = new shared.StreamIdentifier().setStreamName(Buffer.from(stream, 'utf8'))
  return bytesOf(
    new streams.ReadResp().setStreamNotFound(new streams.ReadResp.StreamNotFound().setStreamIdentifier(identifier)),
  )
}

export function firstStreamPosition(revision: number): Buffer {
  return bytesOf(new streams.ReadResp().setFirstStreamPosition(revisionToWire(revision)))
}

export function lastStreamPosition(revision: number): Buffer {
  return bytesOf(new streams.ReadResp().setLastStreamPosition(revisionToWire(revision)))
}

function bytesOf(message: streams.ReadResp): Buffer {
  return Buffer.from(message.serializeBinary())
}
