import { EventStoreDBClient } from '@eventstore/db-client'
import type { StoreLogger } from './errors.ts'
import { AppendCalls } from './append-calls.ts'

export interface EventStoreConnection {
  /** Reads and appends. It has its own channel, so commands never queue behind subscriptions. */
  readonly commands: EventStoreDBClient
  readonly subscriptions: EventStoreDBClient
  /** Uses the channel of `commands`. */
  readonly appends: AppendCalls
  readonly dispose: () => Promise<void>
}

/** Connects lazily: sends nothing before the first call. `url` is an EventStoreDB connection string. */
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
 * Channels with equal address and options share one HTTP/2 connection, also across clients. Another keep-alive timeout
 * is the only harmless difference that a connection string can make.
 */
function withChannelOfItsOwn(url: string): string {
  const given = /([?&]keep[-_]?alive[-_]?timeout=)(\d+)/i
  if (given.test(url)) return url.replace(given, (_, name: string, ms: string) => `${name}${Number(ms) + 1}`)
  return `${url}${url.includes('?') ? '&' : '?'}keepAliveTimeout=10001`
}
