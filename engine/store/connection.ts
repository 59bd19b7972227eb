import { readEventStoreAddress } from '../../platform/kit/event-store-address.ts'
import { AppendCalls } from './append-calls.ts'
import type { StoreLogger } from './errors.ts'
import { NodeConnection } from './node-connection.ts'

export interface EventStoreConnection {
  /** Reads and appends, of the leader. Commands never queue behind subscriptions. */
  readonly commands: NodeConnection
  /** Subscriptions and long reads of the log, of the node that the connection string prefers. */
  readonly subscriptions: NodeConnection
  /** Uses the connection of `commands`. */
  readonly appends: AppendCalls
  /** After this time nothing waits for a node that is not found, or for more than a second for an answer. */
  readonly hurry: (afterMs: number) => void
  readonly close: () => void
}

/** Connects lazily: sends nothing before the first call. `url` is an EventStoreDB connection string. */
export function connectEventStore({
  url,
  logger,
}: {
  readonly url: string
  readonly logger?: StoreLogger
}): EventStoreConnection {
  const address = readEventStoreAddress(url)
  if (address === undefined) throw new Error('the connection string of the event store has no known form')
  const commands = new NodeConnection(address, { isLeaderOnly: true })
  const subscriptions = new NodeConnection(address, { isLeaderOnly: false })
  return {
    commands,
    subscriptions,
    appends: new AppendCalls(commands, logger),
    hurry(afterMs) {
      commands.hurry(afterMs)
      subscriptions.hurry(afterMs)
    },
    close() {
      commands.close()
      subscriptions.close()
    },
  }
}
