import { Server, ServerCredentials, logVerbosity, setLogVerbosity, type MethodDefinition, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js'
import { GossipService } from '@eventstore/db-client/generated/gossip_grpc_pb.js'
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import { PersistentSubscriptionsService } from '@eventstore/db-client/generated/persistent_grpc_pb.js'
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { PersistentSubscriptions } from './persistent/persistent-subscriptions.ts'
import { batchAppend, type BatchAppendCall } from './services/batch-append.ts'
import { joinedReplies } from './services/joined-replies.ts'
import { clusterInfo, supportedMethods } from './services/node-services.ts'
import { groupCalls } from './services/persistent-groups.ts'
import { consume, type ConsumerStream } from './services/persistent-read.ts'
import { read } from './services/read.ts'
import type { ByteStreamCall } from './services/reply-stream.ts'
import { appendCall, deleteCall, tombstoneCall } from './services/unary-writes.ts'
import type { StreamStore } from './streams/stream-store.ts'

const HOST = '127.0.0.1'
/** Above the largest append, so that an oversized one is refused with its own error. */
const LARGEST_REQUEST = 32 << 20

export type RunningServer = { port: number; stop(): Promise<void> }

/** Serves a store on loopback; port 0 takes a free one. */
export async function serve(store: StreamStore, port: number): Promise<RunningServer> {
  setLogVerbosity(logVerbosity.NONE)
  const server = new Server({ interceptors: [joinedReplies], 'grpc.max_receive_message_length': LARGEST_REQUEST })
  server.addService(
    {
      read: bytesInAndOut(StreamsService.read),
      append: bytesInAndOut(StreamsService.append),
      batchAppend: bytesInAndOut(StreamsService.batchAppend),
      delete: bytesOut(StreamsService.delete),
      tombstone: bytesOut(StreamsService.tombstone),
    },
    {
      read: (call: ByteStreamCall) => read(store, call),
      append: (call: Parameters<typeof appendCall>[1], reply: sendUnaryData<Buffer>) => appendCall(store, call, reply),
      batchAppend: (call: BatchAppendCall) => batchAppend(store, call),
      delete: (call: Parameters<typeof deleteCall>[1], reply: sendUnaryData<Buffer>) => deleteCall(store, call, reply),
      tombstone: (call: Parameters<typeof tombstoneCall>[1], reply: sendUnaryData<Buffer>) => tombstoneCall(store, call, reply),
    },
  )
  const subscriptions = new PersistentSubscriptions(store)
  server.addService(
    { ...PersistentSubscriptionsService, read: bytesInAndOut(PersistentSubscriptionsService.read) },
    { ...groupCalls(subscriptions), read: (call: ConsumerStream) => consume(subscriptions, call) },
  )
  const features = supportedMethods()
  server.addService(ServerFeaturesService, { getSupportedMethods: answerWith(() => features) })
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${HOST}:${port}`, ServerCredentials.createInsecure(), (error, boundPort) => {
      if (error === null) resolve(boundPort)
      else reject(error.message.includes('EADDRINUSE') ? new Error(`port ${port} on ${HOST} is already in use`) : error)
    })
  })
  server.addService(GossipService, { read: answerWith(clusterInfo(HOST, bound)) })
  return { port: bound, stop: () => stop(server, subscriptions) }
}

function answerWith<Answer>(answer: () => Answer): (call: ServerUnaryCall<unknown, Answer>, reply: sendUnaryData<Answer>) => void {
  return (_call, reply) => reply(null, answer())
}

/** Open subscriptions never end by themselves, so the connections are cut. */
async function stop(server: Server, subscriptions: PersistentSubscriptions): Promise<void> {
  subscriptions.stop()
  server.forceShutdown()
  await new Promise<void>((resolve) => {
    server.tryShutdown(() => resolve())
  })
}

function bytesOut<Request, Response>(definition: MethodDefinition<Request, Response>): MethodDefinition<Request, Buffer> {
  return { ...definition, responseSerialize: (bytes: Buffer) => bytes, responseDeserialize: (bytes: Buffer) => bytes }
}

function bytesInAndOut<Request, Response>(definition: MethodDefinition<Request, Response>): MethodDefinition<Buffer, Buffer> {
  return { ...bytesOut(definition), requestSerialize: (bytes: Buffer) => bytes, requestDeserialize: (bytes: Buffer) => bytes }
}
