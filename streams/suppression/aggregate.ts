import { defineAggregate, idOfOrganisation } from '../aggregate.ts'
import { suppressionEvents, type SuppressionEvent } from './events.ts'

type Added = Extract<SuppressionEvent, { type: 'SuppressionAdded' }>['data']

export type SuppressionState =
  | { readonly status: 'absent' }
  | (Omit<Added, 'changedBy'> & { readonly status: 'standing' | 'removed' })

function evolve(state: SuppressionState, event: SuppressionEvent): SuppressionState {
  switch (event.type) {
    case 'SuppressionAdded': {
      const { changedBy: _, ...data } = event.data
      return { ...data, status: 'standing' }
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
