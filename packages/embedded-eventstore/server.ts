import {
  Server,
  ServerCredentials,
  logVerbosity,
  setLogVerbosity,
  type MethodDefinition,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js'
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import { PersistentSubscriptionsService as groupsService } from '@eventstore/db-client/generated/persistent_grpc_pb.js'
import persistent from '@eventstore/db-client/generated/persistent_pb.js'
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import streams from '@eventstore/db-client/generated/streams_pb.js'
import { AccessControl } from './access/access-control.ts'
import { authentication } from './access/authentication.ts'
import type { Accounts } from './access/users.ts'
import { httpEndpoints } from './operations/http-endpoints.ts'
import { Listener, type ListenOptions } from './operations/listener.ts'
import { nodeInformation, clusterInfo, supportedMethods } from './services/node-services.ts'
import { nodeStatistics } from './operations/node-statistics.ts'
import { PersistentSubscriptions } from './persistent/persistent-subscriptions.ts'
import { batchAppend, type BatchAppendCall } from './services/batch-append.ts'
import { joinedReplies } from './services/joined-replies.ts'
import { OpenSubscriptions } from './services/open-subscriptions.ts'
import { groupCalls } from './services/persistent-groups.ts'
import { consume, type ConsumerStream } from './services/persistent-read.ts'
import { read } from './services/read.ts'
import type { ByteStreamCall } from './services/reply-stream.ts'
import { appendCall, deleteCall, tombstoneCall } from './services/unary-writes.ts'
import type { StreamStore } from './streams/stream-store.ts'
import { readMessage, type MessageType } from './wire/bounded-reader.ts'
import { LARGEST_REQUEST } from './wire/errors.ts'

export type ServeOptions = ListenOptions & {
  /** Undefined: every caller may do everything. */
  accounts: Accounts | undefined
}

export type RunningServer = { port: number; stop(): Promise<void> }

/** Serves a store on one port: gRPC calls, and operators' requests by HTTP. Rejects when the port is taken. */
export async function serve(store: StreamStore, options: ServeOptions): Promise<RunningServer> {
  setLogVerbosity(logVerbosity.NONE)
  const { accounts } = options
  const access = new AccessControl(store, accounts)
  const subscriptions = new OpenSubscriptions()
  const groups = new PersistentSubscriptions(store)
  const interceptors = accounts === undefined ? [joinedReplies] : [authentication(access, accounts), joinedReplies]
  const server = new Server({ interceptors, 'grpc.max_receive_message_length': LARGEST_REQUEST })
  addStreams(server, store, access, subscriptions)
  server.addService(
    {
      create: bounded(groupsService.create, persistent.CreateReq),
      update: bounded(groupsService.update, persistent.UpdateReq),
      delete: bounded(groupsService.delete, persistent.DeleteReq),
      getInfo: bounded(groupsService.getInfo, persistent.GetInfoReq),
      list: bounded(groupsService.list, persistent.ListReq),
      replayParked: bounded(groupsService.replayParked, persistent.ReplayParkedReq),
      restartSubsystem: groupsService.restartSubsystem,
      read: bytesInAndOut(groupsService.read),
    },
    { ...groupCalls(groups, access), read: (call: ConsumerStream) => consume(groups, access, call) },
  )
  const features = supportedMethods()
  server.addService(ServerFeaturesService, { getSupportedMethods: answerWith(() => features) })
  const questions = httpEndpoints(
    {
      '/health/live': { answer: () => ({ status: 'live' }), isForOperators: false },
      '/ping': { answer: () => ({ text: 'Ping request successfully handled' }), isForOperators: false },
      '/info': { answer: () => nodeInformation(accounts !== undefined), isForOperators: false },
      '/stats': {
        answer: () => nodeStatistics({ store, subscriptions, groups, connections: () => listener.connections }),
        isForOperators: true,
      },
    },
    accounts,
  )
  const listener = new Listener(options, server.createConnectionInjector(ServerCredentials.createInsecure()), questions)
  const port = await listener.open()
  server.addService(GossipService, { read: answerWith(clusterInfo(options.host, port)) })
  const stop = async (): Promise<void> => {
    groups.stop()
    server.forceShutdown()
    await listener.close()
  }
  return { port, stop }
}

function addStreams(server: Server, store: StreamStore, access: AccessControl, subscriptions: OpenSubscriptions): void {
  server.addService(
    {
      read: bytesInAndOut(StreamsService.read),
      append: bytesInAndOut(StreamsService.append),
      batchAppend: bytesInAndOut(StreamsService.batchAppend),
      delete: bytesOut(bounded(StreamsService.delete, streams.DeleteReq)),
      tombstone: bytesOut(bounded(StreamsService.tombstone, streams.TombstoneReq)),
    },
    {
      read: (call: ByteStreamCall) => read({ store, access, subscriptions }, call),
      append: (call: Parameters<typeof appendCall>[2], reply: sendUnaryData<Buffer>) =>
        appendCall(store, access, call, reply),
      batchAppend: (call: BatchAppendCall) => batchAppend(store, access, call),
      delete: (call: Parameters<typeof deleteCall>[2], reply: sendUnaryData<Buffer>) =>
        deleteCall(store, access, call, reply),
      tombstone: (call: Parameters<typeof tombstoneCall>[2], reply: sendUnaryData<Buffer>) =>
        tombstoneCall(store, access, call, reply),
    },
  )
}

function answerWith<Answer>(
  answer: (host: string) => Answer,
): (call: ServerUnaryCall<unknown, Answer>, reply: sendUnaryData<Answer>) => void {
  return (call, reply) => reply(null, answer(call.getHost()))
}

function bounded<Request, Response>(
  definition: MethodDefinition<Request, Response>,
  type: MessageType<Request>,
): MethodDefinition<Request, Response> {
  return { ...definition, requestDeserialize: (bytes) => readMessage(type, bytes) }
}

function bytesOut<Request, Response>(
  definition: MethodDefinition<Request, Response>,
): MethodDefinition<Request, Buffer> {
  return { ...definition, responseSerialize: (bytes: Buffer) => bytes, responseDeserialize: (bytes: Buffer) => bytes }
}

function bytesInAndOut<Request, Response>(
  definition: MethodDefinition<Request, Response>,
): MethodDefinition<Buffer, Buffer> {
  return {
    ...bytesOut(definition),
    requestSerialize: (bytes: Buffer) => bytes,
    requestDeserialize: (bytes: Buffer) => bytes,
  }
}
