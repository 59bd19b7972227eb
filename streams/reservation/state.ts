import type { Fold } from '../store/events.ts'
import type { ReservationEvent } from './events.ts'
import { category } from './stream.ts'

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

export const reservationFold: Fold<ReservationState, ReservationEvent> = {
  category,
  initialState: { status: 'free' },
  evolve,
}
