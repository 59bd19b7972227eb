import type { Duplex, Readable, Writable } from 'node:stream'
import { EventStoreDBClient } from '@eventstore/db-client'
import type { StoreLogger } from './ports.ts'

export interface EventStoreConnection {
  /** Appends and reads. Alone on its channel, so that commands never queue behind subscriptions. */
  readonly commands: EventStoreDBClient
  readonly subscriptions: EventStoreDBClient
  /** Calls `listener` whenever the stream that carries appends ends, for whatever reason; returns how to stop that. */
  readonly onAppendStreamEnd: (listener: () => void) => () => void
  readonly dispose: () => Promise<void>
}

/** Connects lazily: nothing is sent before the first call. `url` is an EventStoreDB connection string. */
export function connectEventStore({ url, logger }: { readonly url: string; readonly logger?: StoreLogger }): EventStoreConnection {
  const commands = EventStoreDBClient.connectionString(url)
  const subscriptions = EventStoreDBClient.connectionString(withChannelOfItsOwn(url))
  const listeners = new Set<() => void>()
  superviseAppendStream(commands, {
    ended: () => {
      for (const listener of listeners) listener()
    },
    orphaned: () => logger?.warn({}, 'the event store answered an append that nobody waits for any more'),
  })
  return {
    commands,
    subscriptions,
    onAppendStreamEnd(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async dispose() {
      await Promise.all([commands.dispose(), subscriptions.dispose()])
    },
  }
}

/**
 * Channels with the same address and the same options share one HTTP/2 connection, whoever opened them; another
 * keep-alive timeout is the one harmless difference that a connection string can make.
 */
function withChannelOfItsOwn(url: string): string {
  const given = /([?&]keep[-_]?alive[-_]?timeout=)(\d+)/i
  if (given.test(url)) return url.replace(given, (_, name: string, ms: string) => `${name}${Number(ms) + 1}`)
  return `${url}${url.includes('?') ? '&' : '?'}keepAliveTimeout=10001`
}

interface AppendStreamObserver {
  readonly ended: () => void
  readonly orphaned: () => void
}

/**
 * The client keeps its pending appends in a table that all clients of the process share and that any transport error
 * empties. An answer that comes after that throws inside the client's data listener, which would end the process; and
 * a server that ends the stream without an error leaves its appends pending for ever. Both are caught here.
 */
function superviseAppendStream(client: EventStoreDBClient, observer: AppendStreamObserver): void {
  const create = client['GRPCStreamCreator']
  client['GRPCStreamCreator'] = (service, debugName, creator, cache) =>
    create(
      service,
      debugName,
      debugName === 'appendToStream' && cache !== undefined
        ? async (grpcClient) => observed(await creator(grpcClient), observer)
        : creator,
      cache,
    )
}

function observed<Stream extends Readable | Writable | Duplex>(stream: Stream, observer: AppendStreamObserver): Stream {
  for (const listener of stream.listeners('data')) {
    const settle = listener as (answer: unknown) => void
    stream.removeListener('data', settle)
    stream.on('data', (answer: unknown) => {
      try {
        settle(answer)
      } catch (error) {
        if (!(error instanceof TypeError && error.message.includes('not iterable'))) throw error
        observer.orphaned()
      }
    })
  }
  let isOver = false
  const over = () => {
    if (!isOver) observer.ended()
    isOver = true
  }
  stream.once('end', () => {
    // Half-closed, it would stay the client's append stream, and every later append would be written to nobody.
    if ('end' in stream) stream.end()
    over()
  })
  stream.once('close', over)
  stream.once('error', over)
  return stream
}
