import { randomUUID } from 'node:crypto'
import { Server, ServerCredentials, type MethodDefinition, type ServerDuplexStream } from '@grpc/grpc-js'
import { ServerFeaturesService } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import { StreamsService } from '@eventstore/db-client/generated/streams_grpc_pb.js'
import { liveAsChild, type RunningServer } from '../../../embedded/children/live-as-child.ts'
import { frameEvents, parseFrame, planFrame } from '../../../packages/embedded-eventstore/log/frame.ts'
import { joinedReplies } from '../../../packages/embedded-eventstore/services/joined-replies.ts'
import { supportedMethods } from '../../../packages/embedded-eventstore/services/node-services.ts'
import { ReplyStream, type ByteStreamCall } from '../../../packages/embedded-eventstore/services/reply-stream.ts'
import { batchSuccess } from '../../../packages/embedded-eventstore/wire/append-reply.ts'
import { readBatchAppendMessage } from '../../../packages/embedded-eventstore/wire/append-request.ts'
import { readReadRequest } from '../../../packages/embedded-eventstore/wire/read-request.ts'
import { CANNED_EVENTS, measuredEvent } from './workload.ts'

/*
 * The node without a store. It acknowledges appends that it does not keep, and always sends the same few replies. Calls
 * and messages take the same way as in the node. A comparison therefore shows the cost of storing and reading.
 */

const canned = cannedReplies()

function cannedReplies(): Buffer[] {
  const events = Array.from({ length: CANNED_EVENTS }, (_, number) => {
    const { type, data } = measuredEvent(number)
    return {
      id: randomUUID(),
      type,
      contentType: 'application/json',
      data: Buffer.from(JSON.stringify(data)),
      metadata: Buffer.alloc(0),
    }
  })
  const plan = planFrame({ stream: 'canned', firstRevision: 0, createdAt: Date.now(), events }, 0)
  return frameEvents(parseFrame(plan.write(0), 0)).map(({ message }) => message)
}

async function send(call: ByteStreamCall): Promise<void> {
  const replies = new ReplyStream(call)
  const { count = 0 } = readReadRequest(call.request)
  for (let sent = 0; sent < count && !replies.isOver; sent += canned.length)
    await replies.sendEach(canned.slice(0, count - sent), (reply) => reply)
  call.end()
}

function read(call: ByteStreamCall): void {
  send(call).catch((error: unknown) => call.emit('error', error))
}

function acknowledge(call: ServerDuplexStream<Buffer, Buffer | Buffer[]>): void {
  let answers: Buffer[] = []
  call.on('data', (bytes: Buffer) => {
    const { correlationId, options, events } = readBatchAppendMessage(bytes)
    if (answers.length === 0) {
      setImmediate(() => {
        call.write(answers)
        answers = []
      })
    }
    answers.push(
      batchSuccess(correlationId, options?.stream ?? '', { kind: 'success', revision: events.length - 1, position: 0 }),
    )
  })
  call.on('end', () => call.end())
}

function bytesInAndOut<Request, Response>(
  definition: MethodDefinition<Request, Response>,
): MethodDefinition<Buffer, Buffer> {
  const same = (bytes: Buffer): Buffer => bytes
  return {
    ...definition,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  }
}

async function start(): Promise<RunningServer> {
  const server = new Server({ interceptors: [joinedReplies] })
  const features = supportedMethods()
  server.addService(
    { read: bytesInAndOut(StreamsService.read), batchAppend: bytesInAndOut(StreamsService.batchAppend) },
    { read, batchAppend: acknowledge },
  )
  server.addService(
    { getSupportedMethods: ServerFeaturesService.getSupportedMethods },
    {
      getSupportedMethods: (_call: unknown, reply: (error: null, value: typeof features) => void) =>
        reply(null, features),
    },
  )
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    )
  })
  return { port, stop: async () => server.forceShutdown() }
}

await liveAsChild({ exitWithParent: true, start })
