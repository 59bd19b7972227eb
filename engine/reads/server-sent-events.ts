import { finished, Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { consoleClient } from '../../platform/http/access.ts'
import { Problem } from '../../platform/http/problems.ts'
import type { OpenStream, OpenStreams } from './open-streams.ts'

/** A stream or a wait whose caller may not read it any more ends within this time, in milliseconds. */
const lookMs = 1_000
/** Milliseconds for what was written before the end of a stream. Then the connection is closed. */
const flushMs = 1_000

export interface StreamDependencies {
  readonly streams: OpenStreams
}

export interface SessionDependencies {
  /** Of a stream at the console: rejects when its person may not read it any more. */
  readonly requireSession?: ((request: FastifyRequest) => Promise<unknown>) | undefined
}

/**
 * Whether the caller accepts server-sent events and nothing else (RFC 9110, 12.5.1). Generated clients accept every
 * documented media type, and read the page.
 */
export function wantsStream(accept = ''): boolean {
  const accepted = accept
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim().toLowerCase()))
    .filter(([type = '', ...parameters]) => type !== '' && !parameters.some((each) => /^q=0(\.0*)?$/.test(each)))
  return accepted.length > 0 && accepted.every(([type]) => type === 'text/event-stream')
}

/** Counts until the answer has ended. Aborted within a second after the end of the token, of a permission or of the session. */
export function openStream(
  request: FastifyRequest,
  { raw }: Pick<FastifyReply, 'raw'>,
  { streams, requireSession }: StreamDependencies & SessionDependencies,
): OpenStream {
  const { clientId, actor } = request.caller
  // Persons at the console share its name.
  const stream = streams.open(clientId === consoleClient ? (actor?.userId ?? '') : clientId)
  const isSession = request.routeOptions.config.isForConsole === true && requireSession !== undefined
  const check = async () => (isSession ? requireSession(request) : request.server.authorize(request))
  const end = (error: unknown): void => {
    // While the permissions of its actor cannot be read, a stream goes on: it may show why.
    if (!(error instanceof Problem && error.code === 'actor-context-unavailable')) stream.abort()
  }
  const checking = setInterval(() => void check().catch(end), lookMs).unref()
  // Also if the caller is gone already.
  finished(raw, () => {
    clearInterval(checking)
    stream.end()
  })
  return stream
}

/** The reply of any route that documents a stream. */
interface StreamReply<Sent> extends Pick<FastifyReply, 'raw'> {
  header(name: string, value: string): unknown
  send(payload: Readable): Sent
}

/** Answers with the parts of a stream of server-sent events (HTML standard, 9.2), until it is aborted. */
export function answerWithStream<Sent>(
  reply: StreamReply<Sent>,
  parts: AsyncIterable<string>,
  { signal }: OpenStream,
): Sent {
  // A caller that does not read would keep the connection, and the answer in it.
  signal.addEventListener('abort', () => setTimeout(() => reply.raw.destroy(), flushMs).unref())
  reply.header('content-type', 'text/event-stream; charset=utf-8')
  reply.header('x-accel-buffering', 'no')
  reply.header('cache-control', 'no-store')
  return reply.send(Readable.from(parts, { objectMode: false }))
}
