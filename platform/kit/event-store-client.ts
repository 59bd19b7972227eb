import type { Duplex, Readable } from 'node:stream'
import type { EventStoreDBClient } from '@eventstore/db-client'
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { experimental, type CallOptions, type Channel, type Metadata } from '@grpc/grpc-js'

/*
 * Every use of non-public parts of `@eventstore/db-client` and `@grpc/grpc-js`, except the service definitions of the embedded node. A test
 * fails when the client's version changes, and lists the parts to check.
 */

/** The client's error for a refused append. */
export { unpackToCommandError } from '@eventstore/db-client/dist/streams/appendToStream/unpackError.js'
/** Messages of the server's `shared.proto` and `streams.proto`. */
export { default as shared } from '@eventstore/db-client/generated/shared_pb.js'
export { default as streams } from '@eventstore/db-client/generated/streams_pb.js'
/** The services of the server, and the members of a cluster. */
export { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js'
export { GossipClient } from '@eventstore/db-client/generated/gossip_grpc_pb.js'
export { default as gossip } from '@eventstore/db-client/generated/gossip_pb.js'

/** Client version of these non-public parts. */
export const clientVersion = '6.2.1'

/**
 * Opens a call of the streams service over the client's connection, with its credentials. `begin` makes the call, so
 * its messages bypass the client's decoder. With `calls`, an open call on the same connection is reused.
 */
export function openStreamsCall<Call extends Readable | Duplex>(
  client: EventStoreDBClient,
  name: string,
  given: { readonly requiresLeader?: boolean },
  begin: (service: StreamsClient, metadata: Metadata, options: CallOptions) => Call,
  calls?: WeakMap<object, Call | Promise<Call>>,
): Promise<Call> {
  const open = client['GRPCStreamCreator']<StreamsClient, Call>(
    StreamsClient,
    name,
    (service) => begin(service, ...client['callArguments'](given, { deadline: Infinity })),
    calls,
  )
  return open()
}

/** Makes one call of the streams service over the client's connection, with its credentials. `make` resolves to its result. */
export function makeStreamsCall<Result>(
  client: EventStoreDBClient,
  name: string,
  make: (service: StreamsClient, metadata: Metadata, options: CallOptions) => Promise<Result>,
): Promise<Result> {
  const [metadata, options] = client['callArguments']({})
  return client['execute'](StreamsClient, name, (service) => make(service, metadata, options))
}

/** Requests of this channel accept no compression. KurrentDB compresses each message otherwise, and unpacking one costs 145 µs. */
export function refuseCompression(channel: Channel): void {
  channel['internalChannel']['filterStackFactory']['factories'].push({ createFilter: () => new IdentityOnly() })
}

/** grpc-js announces gzip on each call, without an option for it. This filter runs after the one that does. */
class IdentityOnly extends experimental.BaseFilter {
  override async sendMetadata(metadata: Promise<Metadata>): Promise<Metadata> {
    const headers = await metadata
    headers.set('grpc-accept-encoding', 'identity')
    return headers
  }
}
