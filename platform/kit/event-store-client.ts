import { experimental, type Channel, type Metadata } from '@grpc/grpc-js'

/*
 * Every use of non-public parts of `@eventstore/db-client` and `@grpc/grpc-js`, except the service definitions of the embedded node. A test
 * fails when the client's version changes, and lists the parts to check.
 */

/** The client's errors. Its entry would load all its services, 78 modules, for them. */
export {
  AccessDeniedError,
  CancelledError,
  convertToCommandError,
  InvalidArgumentError,
  MaxAppendSizeExceededError,
  NotLeaderError,
  StreamDeletedError,
  UnavailableError,
  UnknownError,
  UnsupportedError,
  WrongExpectedVersionError,
} from '@eventstore/db-client/dist/utils/CommandError.js'
/** Its error for a refused append. */
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
