import type { TenantId } from '../../platform/kit/tenants.ts'
import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import { aiReviewSlotEvents, type AiReviewSlotEvent } from './events.ts'

export type SlotHolder = Extract<AiReviewSlotEvent, { type: 'AiReviewSlotClaimed' }>['data']

/** The outcome of a client's keyed request. */
export interface KeyedOutcome {
  readonly fingerprint: string
  readonly aiReviewId: string
  /** The request made the review. */
  readonly isNew: boolean
}

export type AiReviewSlotState =
  | { readonly status: 'free' }
  | {
      readonly status: 'taken'
      /** The review that holds the slot, with the data for its first event. */
      readonly holder: SlotHolder
      /** Request events that got the slot, or an answer with its holder. */
      readonly answeredRequests: readonly string[]
      /** By the HMAC of their key. Includes reviews that were superseded later. */
      readonly keyedOutcomes: GrowingMap<KeyedOutcome>
    }

function evolve(state: AiReviewSlotState, event: AiReviewSlotEvent): AiReviewSlotState {
  switch (event.type) {
    case 'AiReviewSlotClaimed': {
      const holder = event.data
      const { requestEventId, request } = holder
      const before =
        state.status === 'free' ? { answeredRequests: [], keyedOutcomes: new GrowingMap<KeyedOutcome>() } : state
      const answeredRequests =
        requestEventId === null ? before.answeredRequests : [...before.answeredRequests, requestEventId]
      const keyedOutcomes = withOutcome(before.keyedOutcomes, request, { aiReviewId: holder.aiReviewId, isNew: true })
      return { status: 'taken', holder, answeredRequests, keyedOutcomes }
    }
    case 'AiReviewRequestAnswered': {
      if (state.status === 'free') return state
      const { aiReviewId, requestEventId, request } = event.data
      const answeredRequests =
        requestEventId === null ? state.answeredRequests : [...state.answeredRequests, requestEventId]
      const keyedOutcomes = withOutcome(state.keyedOutcomes, request, { aiReviewId, isNew: false })
      return { ...state, answeredRequests, keyedOutcomes }
    }
  }
}

function withOutcome(
  outcomes: GrowingMap<KeyedOutcome>,
  request: CausingRequest,
  outcome: Omit<KeyedOutcome, 'fingerprint'>,
): GrowingMap<KeyedOutcome> {
  return request === null ? outcomes : outcomes.with(request.key, { ...outcome, fingerprint: request.fingerprint })
}

/** At most one non-superseded review holds the slot of a case and a product (invariant 3). */
export const aiReviewSlots = defineAggregate({
  category: 'ai_review_slot',
  id: (orgId: TenantId, caseId: string, productId: string) => idOfOrganisation(orgId, `${caseId}.${productId}`),
  events: aiReviewSlotEvents,
  initialState: { status: 'free' },
  evolve,
})
