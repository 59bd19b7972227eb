import type { Fold } from '../store/events.ts'
import type { AiReviewSlotEvent } from './events.ts'
import { category } from './stream.ts'

type Claim = Extract<AiReviewSlotEvent, { type: 'AiReviewSlotClaimed' }>['data']

export type AiReviewSlotState =
  | { readonly status: 'free' }
  | { readonly status: 'taken'; readonly claim: Claim; readonly answeredRequests: readonly string[] }

function evolve(state: AiReviewSlotState, event: AiReviewSlotEvent): AiReviewSlotState {
  switch (event.type) {
    case 'AiReviewSlotClaimed':
      return { status: 'taken', claim: event.data, answeredRequests: [] }
    case 'AiReviewRequestAnswered':
      return state.status === 'taken'
        ? { ...state, answeredRequests: [...state.answeredRequests, event.data.requestEventId] }
        : state
  }
}

export const aiReviewSlotFold: Fold<AiReviewSlotState, AiReviewSlotEvent> = {
  category,
  initialState: { status: 'free' },
  evolve,
}
