import { relayStates, type RelayStatus } from '../processes/relay/relay.ts'
import { projectorStates, type ProjectorStatus } from '../projections/runtime/runner-options.ts'
import { stateSamples, type Metrics } from '../platform/observability/metrics.ts'

interface Watched {
  /** Undefined if neither projector nor processor runs. */
  readonly runner: { status(): readonly ProjectorStatus[] } | undefined
  readonly relays: readonly { status(): RelayStatus }[]
}

/** Figures that this process has in memory. A scrape makes no query for them. */
export function addRuntimeMetrics(metrics: Metrics, { runner, relays }: Watched): void {
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

function relayStateOf({ channel, state }: RelayStatus) {
  return stateSamples(relayStates, state, { channel })
}

/** None on standby: another process is further, and this one would look as if it lagged. */
function positionOf({ name, state, position }: ProjectorStatus) {
  if (state === 'standby' || position === undefined) return []
  return [{ labels: { projector: name }, value: Number(position.commit) }]
}
