import { defineAggregate, idOfOrganisation } from '../../aggregates/aggregate.ts'
import { reservationEvents, type ReservationEvent } from './events.ts'

type Reservation = Extract<ReservationEvent, { type: 'ReservationClaimed' }>['data']

export type ReservationState =
  | { readonly status: 'free' }
  | { readonly status: 'reserved'; readonly reservation: Reservation }
  | { readonly status: 'confirmed'; readonly reservation: Reservation }

function evolve(state: ReservationState, event: ReservationEvent): ReservationState {
  switch (event.type) {
    case 'ReservationClaimed':
      return { status: 'reserved', reservation: event.data }
    case 'ReservationConfirmed':
      return state.status === 'free' ? state : { status: 'confirmed', reservation: state.reservation }
    case 'ReservationReleased':
      return { status: 'free' }
  }
}

/** The id is an HMAC of the reserved key. So the stream name contains no personal data. */
export const reservations = defineAggregate({
  category: 'reservation',
  id: idOfOrganisation,
  events: reservationEvents,
  initialState: { status: 'free' },
  evolve,
})
