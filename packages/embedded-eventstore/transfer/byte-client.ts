import { EventStoreDBClient } from '@eventstore/db-client'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import type { ClientReadableStream } from '@grpc/grpc-js'
import { officialAddress } from '../official-address.ts'
import { makeStreamsCall, openStreamsCall } from './streams-calls.ts'
import type { TransferredEvent } from './exported-line.ts'

export type AppendOutcome = { kind: 'written' } | { kind: 'conflict'; head: bigint }
export type ProposedBytes = Pick<TransferredEvent, 'id' | 'type' | 'isJson' | 'data' | 'metadata'>

const EVERYTHING = '9223372036854775807'

/**
 * The official client's connection string, discovery and credentials, with unchanged bytes. The client's own calls
 * parse JSON and write it again, and that loses digits and spaces.
 */
export class ByteClient {
  private readonly client: EventStoreDBClient

  constructor(url: string) {
    this.client = EventStoreDBClient.connectionString(officialAddress(url))
  }

  /** All events in `$all` up to its present end, with unresolved links. */
  async *readAll(): AsyncGenerator<TransferredEvent> {
    const options = new streams.ReadReq.Options()
      .setAll(new streams.ReadReq.Options.AllOptions().setStart(new shared.Empty()))
      .setReadDirection(streams.ReadReq.Options.ReadDirection.FORWARDS)
      .setCount(EVERYTHING)
      .setNoFilter(new shared.Empty())
    yield* this.read(options)
  }

  /** The last readable event of a stream, if any. */
  async last(stream: string): Promise<TransferredEvent | undefined> {
    const from = new streams.ReadReq.Options.StreamOptions()
      .setStreamIdentifier(identifierOf(stream))
      .setEnd(new shared.Empty())
    const options = new streams.ReadReq.Options()
      .setStream(from)
      .setReadDirection(streams.ReadReq.Options.ReadDirection.BACKWARDS)
      .setCount('1')
      .setNoFilter(new shared.Empty())
    for await (const event of this.read(options)) return event
    return undefined
  }

  /** Appends after revision `before`. -1 stands for a missing stream. */
  async append(stream: string, before: bigint, events: ProposedBytes[]): Promise<AppendOutcome> {
    const options = new streams.AppendReq.Options().setStreamIdentifier(identifierOf(stream))
    if (before < 0n) options.setNoStream(new shared.Empty())
    else options.setRevision(String(before))
    return makeStreamsCall(
      this.client,
      'append as bytes',
      (service, metadata, callOptions) =>
        new Promise<AppendOutcome>((resolve, reject) => {
          const call = service.append(metadata, callOptions, (error, reply) => {
            if (error !== null) return reject(error)
            const conflict = reply.getWrongExpectedVersion()
            if (conflict === undefined) return resolve({ kind: 'written' })
            resolve({
              kind: 'conflict',
              head: conflict.hasCurrentRevision() ? BigInt(conflict.getCurrentRevision()) : -1n,
            })
          })
          call.on('error', reject)
          call.write(new streams.AppendReq().setOptions(options))
          for (const event of events) call.write(new streams.AppendReq().setProposedMessage(proposed(event)))
          call.end()
        }),
    )
  }

  async softDelete(stream: string): Promise<void> {
    await this.client.deleteStream(stream)
  }

  /** An append without events. It revives a deleted stream without events. */
  async revive(stream: string): Promise<void> {
    await this.client.appendToStream(stream, [], { expectedRevision: 'any' })
  }

  async tombstone(stream: string): Promise<void> {
    await this.client.tombstoneStream(stream)
  }

  async dispose(): Promise<void> {
    await this.client.dispose()
  }

  private async *read(options: streams.ReadReq.Options): AsyncGenerator<TransferredEvent> {
    const request = new streams.ReadReq().setOptions(
      options.setUuidOption(new streams.ReadReq.Options.UUIDOption().setString(new shared.Empty())),
    )
    const replies = await openStreamsCall<ClientReadableStream<streams.ReadResp>>(
      this.client,
      'read as bytes',
      {},
      (service, metadata, callOptions) => service.read(request, metadata, callOptions),
    )
    for await (const reply of replies) {
      const record = reply instanceof streams.ReadResp ? reply.getEvent()?.getEvent() : undefined
      if (record !== undefined) yield transferred(record)
    }
  }
}

function transferred(record: streams.ReadResp.ReadEvent.RecordedEvent): TransferredEvent {
  const metadata = record.getMetadataMap()
  return {
    stream: Buffer.from(record.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8'),
    revision: BigInt(record.getStreamRevision()),
    id: record.getId()?.getString() ?? '',
    type: metadata.get('type') ?? '',
    isJson: metadata.get('content-type') === 'application/json',
    created: metadata.get('created') ?? '',
    data: record.getData_asU8(),
    metadata: record.getCustomMetadata_asU8(),
  }
}

function proposed({ id, type, isJson, data, metadata }: ProposedBytes): streams.AppendReq.ProposedMessage {
  const message = new streams.AppendReq.ProposedMessage()
    .setId(new shared.UUID().setString(id))
    .setData(data)
    .setCustomMetadata(metadata)
  message
    .getMetadataMap()
    .set('type', type)
    .set('content-type', isJson ? 'application/json' : 'application/octet-stream')
  return message
}

function identifierOf(stream: string): shared.StreamIdentifier {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(stream, 'utf8'))
}
