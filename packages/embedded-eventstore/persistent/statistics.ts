import { formatPosition, streamOf } from './group-settings.ts'
import type { Measurement } from './measurements.ts'
import type { RunningGroup } from './running-group.ts'

/** A group as operators see it. */
export type GroupStatistics = {
  eventSource: string
  status: string
  startFrom: string
  averagePerSecond: number
  totalItems: number
  countSinceLastMeasurement: number
  lastCheckpoint: string
  lastKnown: string
  readBufferCount: number
  liveBufferCount: number
  retryBufferCount: number
  inFlight: number
  outstanding: number
  parked: number
  connections: ConnectionStatistics[]
}

export type ConnectionStatistics = {
  username: string
  name: string
  averagePerSecond: number
  totalItems: number
  countSinceLastMeasurement: number
  availableSlots: number
  inFlight: number
  measurements: Measurement[]
}

type Measured = { at: number; total: number }

/** Takes statistics of groups. Rates cover the time since the last request. */
export class StatisticsTaker {
  private readonly measured = new WeakMap<RunningGroup, Measured>()
  private readonly startedAt = performance.now()

  take(running: RunningGroup): GroupStatistics {
    const { group, settings } = running
    const { status, counts, outstanding, delivered, checkpoint, known } = group.state
    const now = performance.now()
    const last = this.measured.get(running) ?? { at: this.startedAt, total: 0 }
    this.measured.set(running, { at: now, total: delivered })
    const seconds = (now - last.at) / 1000
    const connections = connectionsOf(running, seconds)
    const position = (value: number | undefined): string =>
      value === undefined ? '' : formatPosition(settings.source, value)
    return {
      eventSource: streamOf(settings.source),
      status,
      startFrom: settings.startPosition,
      averagePerSecond: rate(delivered - last.total, seconds),
      totalItems: delivered,
      countSinceLastMeasurement: delivered - last.total,
      lastCheckpoint: position(checkpoint),
      lastKnown: position(known),
      readBufferCount: counts.read,
      liveBufferCount: counts.live,
      retryBufferCount: counts.retry,
      inFlight: connections.reduce((sum, { inFlight }) => sum + inFlight, 0),
      outstanding,
      parked: running.parkedCount,
      connections,
    }
  }
}

function connectionsOf({ group, connections }: RunningGroup, seconds: number): ConnectionStatistics[] {
  return [...group.consumers.values()].flatMap((consumer) => {
    const connection = connections.get(consumer.id)
    if (connection === undefined) return []
    const since = consumer.total - connection.measured
    connection.measured = consumer.total
    return [
      {
        username: connection.username,
        name: connection.name,
        averagePerSecond: rate(since, seconds),
        totalItems: consumer.total,
        countSinceLastMeasurement: since,
        availableSlots: consumer.slots,
        inFlight: consumer.inFlight.size,
        measurements: connection.measurements?.summary() ?? [],
      },
    ]
  })
}

function rate(items: number, seconds: number): number {
  return seconds > 0 ? Math.floor(items / seconds) : 0
}
