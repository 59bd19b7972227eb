import { EventStoreDBClient } from '@eventstore/db-client'
import type { StoreLogger } from './errors.ts'
import { AppendCalls } from './append-calls.ts'

export interface EventStoreConnection {
  /** Reads, and what carries appends. Alone on its channel, so that commands never queue behind subscriptions. */
  readonly commands: EventStoreDBClient
  readonly subscriptions: EventStoreDBClient
  /** On the channel of `commands`. */
  readonly appends: AppendCalls
  readonly dispose: () => Promise<void>
}

/** Connects lazily: nothing is sent before the first call. `url` is an EventStoreDB connection string. */
export function connectEventStore({
  url,
  logger,
}: {
  readonly url: string
  readonly logger?: StoreLogger
}): EventStoreConnection {
  const commands = EventStoreDBClient.connectionString(url)
  const subscriptions = EventStoreDBClient.connectionString(withChannelOfItsOwn(url))
  return {
    commands,
    subscriptions,
    appends: new AppendCalls(commands, logger),
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
