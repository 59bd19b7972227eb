import { relayStates, type RelayStatus } from '../engine/relay/relay.ts'
import { projectorStates, type ProjectorStatus } from '../engine/projections/runner-options.ts'
import { limited } from '../platform/kit/time-limits.ts'
import { stateSamples, type Metrics } from '../platform/observability/metrics.ts'
import type { Attendance } from './projections/attendance.ts'

interface Watched {
  /** Of the database. The figures of a process that has died vanish, so every other process shows that it is missing. */
  readonly attendance: () => Promise<readonly Attendance[]>
  /** Undefined if neither projector nor processor runs. */
  readonly runner: { status(): readonly ProjectorStatus[] } | undefined
  readonly relays: readonly { status(): RelayStatus }[]
}

/** In milliseconds. A scrape must not wait for a database that is away. */
const attendanceLimitMs = 2_000

/** All figures but the attendance are in memory. */
export function addRuntimeMetrics(metrics: Metrics, { attendance, runner, relays }: Watched): void {
  metrics.register({
    name: 'projector_has_process',
    help: 'Read models and to-do lists in the database. 1 if any process runs one, 0 if none does.',
    labels: ['projector'],
    read: () =>
      limited(attendanceLimitMs, attendance()).then(
        (attended) =>
          attended.map(({ name, hasProcess }) => ({ labels: { projector: name }, value: Number(hasProcess) })),
        () => [],
      ),
  })
  if (runner !== undefined) {
    metrics.register({
      name: 'projector_state',
      help: 'Read models and to-do lists in this process. 1 for the present state, 0 for the others.',
      labels: ['projector', 'state'],
      read: () =>
        runner.status().flatMap(({ name, state }) => stateSamples(projectorStates, state, { projector: name })),
    })
    metrics.register({
      name: 'projector_position',
      help: 'Commit position in the log up to which this process has written a read model or to-do list.',
      labels: ['projector'],
      read: () => runner.status().flatMap(positionOf),
    })
  }
  if (relays.length === 0) return
  metrics.register({
    name: 'relay_state',
    help: 'Relays in this process. 1 for the present state, 0 for the others.',
    labels: ['channel', 'state'],
    read: () => relays.flatMap((relay) => relayStateOf(relay.status())),
  })
}

/** Only processes that answer requests have an access log. */
export function addAccessLogMetrics(metrics: Metrics, log: { lagSeconds(): number }): void {
  metrics.register({
    name: 'access_log_lag_seconds',
    help: 'How long the oldest record of the access log of this process has waited for the event store.',
    labels: [],
    read: () => [{ labels: {}, value: log.lagSeconds() }],
  })
}

function relayStateOf({ channel, state }: RelayStatus) {
  return stateSamples(relayStates, state, { channel })
}

/** None on standby: another process is further, and this one would look as if it lagged. */
function positionOf({ name, state, position }: ProjectorStatus) {
  if (state === 'standby' || position === undefined) return []
  return [{ labels: { projector: name }, value: Number(position.commit) }]
}
