import { randomUUID } from 'node:crypto'
import type { AccessControl } from '../access/access-control.ts'
import { CallError, handlerFailed, streamDeleted, toCallError, unknownError } from '../wire/errors.ts'
import { firstStreamPosition, lastStreamPosition, streamNotFound } from '../wire/read-reply.ts'
import { readReadRequest, type Place, type ReadRequest } from '../wire/read-request.ts'
import { isHiddenFromAll, readBackwards, readForwards, viewStream } from '../streams/read-stream.ts'
import { isPosition, readLogBackwards, readLogForwards } from '../streams/read-all.ts'
import type { StreamStore } from '../streams/stream-store.ts'
import type { OpenSubscription, OpenSubscriptions } from './open-subscriptions.ts'
import { replyOf } from './replies.ts'
import { ReplyStream, type ByteStreamCall } from './reply-stream.ts'
import { subscribeToAll } from './subscribe-to-all.ts'
import { subscribeToStream } from './subscribe-to-stream.ts'

/** The store of reads, the rights of their callers, and the list of open subscriptions. */
export type ReadService = { store: StreamStore; access: AccessControl; subscriptions: OpenSubscriptions }

const ALL_STREAM = '$all'

/** The `Read` call: reads and catch-up subscriptions. */
export function read(service: ReadService, call: ByteStreamCall): void {
  const replies = new ReplyStream(call)
  serve(service, call, replies).then(
    () => call.end(),
    (error: unknown) => {
      if (!replies.isOver) call.emit('error', toCallError(error))
    },
  )
}

async function serve(
  { store, access, subscriptions }: ReadService,
  call: ByteStreamCall,
  replies: ReplyStream,
): Promise<void> {
  const request = parse(call.request)
  const { source, count } = request
  const stream = source.kind === 'all' ? ALL_STREAM : source.stream
  access.requireStream(call.metadata, 'read', stream)
  if (count === undefined) {
    const connectionName = call.metadata.get('connection-name')[0]?.toString() ?? ''
    const details = { id: randomUUID(), stream, user: access.nameOf(call.metadata), connectionName }
    await subscriptions.during(details, (subscription) => subscribe(store, replies, request, subscription))
  } else if (source.kind === 'all') {
    if (count < 1) throw unknownError('Unexpected ReadAllResult: Error')
    await readAll(store, replies, request, source.from, count)
  } else {
    if (count < 1) throw unknownError('Unexpected ReadStreamResult: Error')
    await readStream(store, replies, request, source, count)
  }
}

async function subscribe(
  store: StreamStore,
  replies: ReplyStream,
  request: ReadRequest,
  subscription: OpenSubscription,
): Promise<void> {
  const { source } = request
  if (source.kind === 'stream') return subscribeToStream(store, replies, request, source, subscription)
  if (typeof source.from === 'number' && !isPosition(store, source.from)) throw handlerFailed()
  return subscribeToAll(store, replies, request, source.from, subscription)
}

/**
 * A filter that does not compile, or any other unreadable request, fails the call with the server's error for handlers.
 */
function parse(bytes: Buffer): ReadRequest {
  try {
    return readReadRequest(bytes)
  } catch (error) {
    throw error instanceof CallError ? error : handlerFailed()
  }
}

async function readAll(
  store: StreamStore,
  replies: ReplyStream,
  request: ReadRequest,
  from: Place,
  count: number,
): Promise<void> {
  const position = from === 'start' ? 0 : from === 'end' ? store.log.durableEnd : from
  if (!isPosition(store, position)) throw unknownError('Unexpected ReadAllResult: Error')
  const chunks = request.backwards ? readLogBackwards(store, position) : readLogForwards(store, position)
  let left = count
  for (const chunk of chunks) {
    const accepted = chunk.filter(
      ({ frame, event }) => !isHiddenFromAll(frame.stream) && request.filter?.accepts(frame.stream, event) !== false,
    )
    const taken = accepted.slice(0, left)
    left -= taken.length
    await replies.sendEach(taken, ({ event }) => replyOf(store, request, event))
    if (left === 0 || replies.isOver) return
  }
}

type StreamSource = Extract<ReadRequest['source'], { kind: 'stream' }>

async function readStream(
  store: StreamStore,
  replies: ReplyStream,
  request: ReadRequest,
  source: StreamSource,
  count: number,
): Promise<void> {
  const { stream, from } = source
  if (from === 'end' && !request.backwards) throw unknownError('Unexpected ReadStreamResult: Error')
  const view = viewStream(store, stream)
  if (view.kind === 'deleted') throw streamDeleted(stream)
  if (view.kind === 'missing') return replies.send([streamNotFound(stream)])
  const revision = from === 'start' ? 0 : from === 'end' ? view.head : from
  const pages = request.backwards
    ? readBackwards(store, stream, revision, count)
    : readForwards(store, stream, revision, count)
  let sent = 0
  for (const page of pages) {
    sent += page.length
    await replies.sendEach(page, (event) => replyOf(store, request, event))
    if (replies.isOver) return
  }
  if (request.compatibility < 1) return
  if (sent === 0 && !request.backwards && revision < view.first) await replies.send([firstStreamPosition(view.first)])
  await replies.send([lastStreamPosition(view.head)])
}
