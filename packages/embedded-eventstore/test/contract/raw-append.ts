import { randomUUID } from 'node:crypto'
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import { credentials, type ClientWritableStream } from '@grpc/grpc-js'
import emptyMessages from 'google-protobuf/google/protobuf/empty_pb.js'

/** The stubs inside the official client, for requests that the client itself never sends. */
export function rawStreams(url: string): StreamsClient {
  return new StreamsClient(new URL(url.replace('esdb:', 'http:')).host, credentials.createInsecure())
}

/** Appends one event whose data is exactly this text, as JSON. */
export async function appendText(raw: StreamsClient, stream: string, text: string, type = '$metadata'): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const call = raw.append((error) => (error === null ? resolve() : reject(error)))
    writeHalf(call, stream, text, type)
    call.end()
  })
}

/** Sends the options of an append and one event, and leaves the request open. */
export function writeHalf(
  call: ClientWritableStream<streams.AppendReq>,
  stream: string,
  text: string,
  type: string,
): void {
  call.write(appendOptions(stream))
  call.write(appendEvent(text, type))
}

/** The first message of an append to any revision. */
export function appendOptions(stream: string): streams.AppendReq {
  const identifier = new shared.StreamIdentifier().setStreamName(Buffer.from(stream))
  return new streams.AppendReq().setOptions(
    new streams.AppendReq.Options().setStreamIdentifier(identifier).setAny(new shared.Empty()),
  )
}

/** The message of one event. */
export function appendEvent(text: string, type: string, metadata = new Uint8Array()): streams.AppendReq {
  const message = new streams.AppendReq.ProposedMessage()
    .setId(new shared.UUID().setString(randomUUID()))
    .setData(Buffer.from(text))
    .setCustomMetadata(metadata)
  message.getMetadataMap().set('type', type).set('content-type', 'application/json')
  return new streams.AppendReq().setProposedMessage(message)
}

/** A complete append of one event for the batch call, to any revision. */
export function batchRequest(stream: string, text: string): streams.BatchAppendReq {
  const identifier = new shared.StreamIdentifier().setStreamName(Buffer.from(stream))
  const options = new streams.BatchAppendReq.Options().setStreamIdentifier(identifier).setAny(new emptyMessages.Empty())
  const message = new streams.BatchAppendReq.ProposedMessage()
    .setId(new shared.UUID().setString(randomUUID()))
    .setData(Buffer.from(text))
  message.getMetadataMap().set('type', 'Counted').set('content-type', 'application/json')
  const request = new streams.BatchAppendReq().setCorrelationId(new shared.UUID().setString(randomUUID()))
  request.addProposedMessages(message)
  return request.setOptions(options).setIsFinal(true)
}
