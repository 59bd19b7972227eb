import type { SlotHolder } from '../../streams/ai-review-slot/aggregate.ts'
import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import type { AiReviewState } from '../../streams/ai-review/aggregate.ts'
import type { GivenAddress } from '../../streams/ai-review/review-image.ts'
import type { Decision } from '../../engine/commands/decision.ts'
import { isStarting } from './next-call.ts'

/** The first event contains the data of the slot's claim, so it can be written again after a crash. */
export function openReview({ holder }: { holder: SlotHolder }, state: AiReviewState): Decision<AiReviewEvent> {
  if (state.status !== 'absent') return []
  const { aiReviewId, caseId, productId, orgId, patientId, correlationId, images, addresses, claimedAt } = holder
  const data = {
    aiReviewId,
    caseId,
    productId,
    orgId,
    patientId,
    correlationId,
    images,
    addresses,
    requestedAt: claimedAt,
  }
  return [{ type: 'AiReviewRequested', data }]
}

export interface StartReview {
  readonly patientId: string
  /** Addresses that no event of the review contains yet. */
  readonly addresses: GivenAddress[] | null
  readonly now: Date
}

/** Records the patient of the case when the start begins. Retries record nothing more. */
export function startReview({ patientId, addresses, now }: StartReview, state: AiReviewState): AiReviewEvent[] {
  if (!isStarting(state) || state.isStarted) return []
  const { aiReviewId } = state
  return [{ type: 'AiReviewStarted', data: { aiReviewId, patientId, addresses, startedAt: now.toISOString() } }]
}
