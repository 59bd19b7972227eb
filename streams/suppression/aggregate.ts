import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { suppressionEvents, type SuppressionEvent } from './events.ts'

type Added = Extract<SuppressionEvent, { type: 'SuppressionAdded' }>['data']

export type SuppressionState =
  | { readonly status: 'absent' }
  | (Omit<Added, 'changedBy' | 'fingerprint'> & {
      readonly status: 'existing' | 'removed'
      /** Of all requests with a key that ever added it. Their repeats add nothing. */
      readonly fingerprints: readonly string[]
    })

function evolve(state: SuppressionState, event: SuppressionEvent): SuppressionState {
  switch (event.type) {
    case 'SuppressionAdded': {
      const { changedBy: _, fingerprint, ...data } = event.data
      const earlier = state.status === 'absent' ? [] : state.fingerprints
      const fingerprints = fingerprint === null ? earlier : [...earlier, fingerprint]
      return { ...data, status: 'existing', fingerprints }
    }
    case 'SuppressionRemoved':
      return state.status === 'absent' ? state : { ...state, status: 'removed' }
  }
}

/**
 * One address on one channel. The id derives from an HMAC of both, so the stream decides whether the address is
 * suppressed. `noOrganisation` owns the suppressions of the platform.
 */
export const suppressions = defineAggregate({
  category: 'suppression',
  id: idOfOrganisation,
  events: suppressionEvents,
  initialState: { status: 'absent' },
  evolve,
})
