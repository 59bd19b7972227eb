import { defineAggregate, idOfOrganisation } from '../aggregate.ts'
import { reservationEvents, type ReservationEvent } from './events.ts'

type Claim = Extract<ReservationEvent, { type: 'ReservationClaimed' }>['data']

export type ReservationState =
  | { readonly status: 'free' }
  | { readonly status: 'claimed'; readonly claim: Claim }
  | { readonly status: 'confirmed'; readonly claim: Claim }

function evolve(state: ReservationState, event: ReservationEvent): ReservationState {
  switch (event.type) {
    case 'ReservationClaimed':
      return { status: 'claimed', claim: event.data }
    case 'ReservationConfirmed':
      return state.status === 'free' ? state : { status: 'confirmed', claim: state.claim }
    case 'ReservationReleased':
      return { status: 'free' }
  }
}

/** The id is an HMAC of the reserved key (contract section 1). So the stream name contains no personal data. */
export const reservations = defineAggregate({
  category: 'reservation',
  id: idOfOrganisation,
  events: reservationEvents,
  initialState: { status: 'free' },
  evolve,
})
