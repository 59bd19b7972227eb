import { once } from 'node:events'
import { createServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { liveAsChild, type RunningServer } from '../../../embedded/children/live-as-child.ts'
import { frameEvents, parseFrame, planFrame } from '../../../packages/embedded-eventstore/log/frame.ts'
import { measuredEvent } from './workload.ts'

/*
 * Answers each read with the same event again and again, until the reader leaves. It compresses each message if the
 * reader accepts gzip, as KurrentDB 26 does; with `--plain` it never does.
 */

const isPlain = process.argv.includes('--plain')
const { type, data } = measuredEvent(0)
const event = {
  id: crypto.randomUUID(),
  type,
  contentType: 'application/json',
  data: Buffer.from(JSON.stringify(data)),
  metadata: Buffer.alloc(0),
}
const plan = planFrame({ stream: 'repeated', firstRevision: 0, createdAt: Date.now(), events: [event] }, 0)
const [message = Buffer.alloc(0)] = frameEvents(parseFrame(plan.write(0), 0)).map((framed) => framed.message)
const messagesOfAWrite = 64

function framed(content: Buffer, isCompressed: boolean): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt8(isCompressed ? 1 : 0)
  head.writeUInt32BE(content.length, 1)
  return Buffer.concat([head, content])
}

const plain = Buffer.concat(Array.from({ length: messagesOfAWrite }, () => framed(message, false)))
const compressed = Buffer.concat(Array.from({ length: messagesOfAWrite }, () => framed(gzipSync(message), true)))

async function answer(stream: ServerHttp2Stream, accepted: string): Promise<void> {
  const compresses = !isPlain && accepted.includes('gzip')
  stream.on('error', () => undefined)
  stream.respond({
    ':status': 200,
    'content-type': 'application/grpc+proto',
    ...(compresses ? { 'grpc-encoding': 'gzip' } : {}),
  })
  const left = once(stream, 'close')
  while (!stream.closed && !stream.destroyed) {
    if (!stream.write(compresses ? compressed : plain)) await Promise.race([once(stream, 'drain'), left])
  }
}

async function start(): Promise<RunningServer> {
  const server = createServer()
  server.on('stream', (stream, headers) => {
    answer(stream, String(headers['grpc-accept-encoding'] ?? '')).catch(() => stream.close())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, stop: async () => void server.close() }
}

await liveAsChild({ exitWithParent: true, start })
