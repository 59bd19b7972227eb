import type { Duplex, Readable } from 'node:stream'
import type { EventStoreDBClient } from '@eventstore/db-client'
import { StreamsClient } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import type { CallOptions, Metadata } from '@grpc/grpc-js'

// Uses non-public members of the official client: see its version in package.json.

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
