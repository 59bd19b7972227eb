import type { RelayState } from '../../contracts/operations/record.ts'
import { channels } from '../../processes/registry.ts'
import type { ProcessLife } from './signs-of-life.ts'

type Lives = readonly Pick<ProcessLife, 'status' | 'relays'>[]

/** Of each channel the relay of the process that runs it. One that no process runs is closed. */
export function relayStatesOf(processes: Lives, at: Date): readonly RelayState[] {
  const relays = processes.filter(({ status }) => status === 'running').flatMap((process) => process.relays)
  return channels
    .map(({ stream }) => stream)
    .toSorted()
    .map((channel) => {
      const own = relays.filter((relay) => relay.channel === channel)
      const relay = own.find(({ state }) => state === 'running' || state === 'blocked') ?? own[0]
      if (relay === undefined) return { channel, state: 'closed', position: null, seconds_since_move: null }
      const { state, position, moved_at: movedAt } = relay
      const seconds = Math.max(0, Math.round((at.getTime() - Date.parse(movedAt)) / 1_000))
      return { channel, state, position, seconds_since_move: seconds }
    })
}

/** Relays that stopped at an event. */
export function blockedRelays(processes: Lives): ProcessLife['relays'] {
  return processes
    .filter(({ status }) => status === 'running')
    .flatMap(({ relays }) => relays.filter(({ state }) => state === 'blocked'))
}
