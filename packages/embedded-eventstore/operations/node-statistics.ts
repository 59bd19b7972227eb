import type { PersistentSubscriptions } from '../persistent/persistent-subscriptions.ts'
import { streamOf } from '../persistent/group-settings.ts'
import type { RunningGroup } from '../persistent/running-group.ts'
import type { OpenSubscription, OpenSubscriptions } from '../services/open-subscriptions.ts'
import type { StreamStore } from '../streams/stream-store.ts'

export type StatisticsSources = {
  store: StreamStore
  subscriptions: OpenSubscriptions
  groups: PersistentSubscriptions
  connections: () => number
}

const ALL_STREAM = '$all'

/**
 * The node in figures. Counts include everything that was ever appended, deleted and system streams too. Bytes are
 * those of the log. Lag is in events for a stream, and in bytes of the log behind a position for `$all`.
 */
export function nodeStatistics({ store, subscriptions, groups, connections }: StatisticsSources): unknown {
  return {
    uptimeSeconds: Math.floor(process.uptime()),
    residentBytes: process.memoryUsage.rss(),
    streams: store.index.streamCount,
    events: store.index.eventCount,
    bytes: store.log.durableEnd,
    syncs: store.log.syncCount,
    connections: connections(),
    subscriptions: subscriptions.list().map((subscription) => withLag(store, subscription)),
    persistentSubscriptions: groups.running.map((group) => figuresOf(store, group)),
  }
}

function withLag(store: StreamStore, subscription: OpenSubscription): unknown {
  return { ...subscription, ...lagBehind(store, subscription.stream, subscription.reached) }
}

function figuresOf(store: StreamStore, running: RunningGroup): unknown {
  const { settings, group, parkedCount } = running
  const stream = streamOf(settings.source)
  const { status, counts, outstanding, delivered, checkpoint, known } = group.state
  return {
    stream,
    group: settings.group,
    status,
    consumers: group.consumers.size,
    delivered,
    outstanding,
    waiting: counts,
    parked: parkedCount,
    checkpoint,
    known,
    ...lagBehind(store, stream, checkpoint ?? -1),
  }
}

function lagBehind(
  store: StreamStore,
  stream: string,
  reached: number,
): { head: number; lagEvents?: number; lagBytes?: number } {
  if (stream === ALL_STREAM) {
    const head = store.log.durableEnd
    return { head, lagBytes: Math.max(0, head - Math.max(0, reached)) }
  }
  const head = store.index.head(stream)
  return { head, lagEvents: Math.max(0, head - reached) }
}
