import type { TenantId } from '../../platform/kit/tenants.ts'
import { defineAggregate, idOfOrganisation } from '../aggregate.ts'
import { aiReviewSlotEvents, type AiReviewSlotEvent } from './events.ts'

export type SlotClaim = Extract<AiReviewSlotEvent, { type: 'AiReviewSlotClaimed' }>['data']

/** The outcome of a keyed request to supersede. */
interface KeyedClaim {
  readonly fingerprint: string
  readonly aiReviewId: string
}

export type AiReviewSlotState =
  | { readonly status: 'free' }
  | {
      readonly status: 'taken'
      /** Claim of the review that holds the slot. */
      readonly claim: SlotClaim
      /** Request events that the slot has answered, or to which it gave itself. */
      readonly answeredRequests: readonly string[]
      /** By the HMAC of their key. Includes reviews that were superseded later. */
      readonly keyedClaims: ReadonlyMap<string, KeyedClaim>
    }

function evolve(state: AiReviewSlotState, event: AiReviewSlotEvent): AiReviewSlotState {
  switch (event.type) {
    case 'AiReviewSlotClaimed': {
      const claim = event.data
      const { requestEventId, request } = claim
      const before =
        state.status === 'free' ? { answeredRequests: [], keyedClaims: new Map<string, KeyedClaim>() } : state
      const answeredRequests =
        requestEventId === null ? before.answeredRequests : [...before.answeredRequests, requestEventId]
      const keyedClaims = new Map(before.keyedClaims)
      if (request !== null)
        keyedClaims.set(request.key, { fingerprint: request.fingerprint, aiReviewId: claim.aiReviewId })
      return { status: 'taken', claim, answeredRequests, keyedClaims }
    }
    case 'AiReviewRequestAnswered':
      return state.status === 'taken'
        ? { ...state, answeredRequests: [...state.answeredRequests, event.data.requestEventId] }
        : state
  }
}

/** At most one non-superseded review holds the slot of a case and a product (invariant 3). */
export const aiReviewSlots = defineAggregate({
  category: 'ai_review_slot',
  id: (orgId: TenantId, caseId: string, productId: string) => idOfOrganisation(orgId, `${caseId}.${productId}`),
  events: aiReviewSlotEvents,
  initialState: { status: 'free' },
  evolve,
})
