import type { SlotHolder } from '../../streams/ai-review-slot/aggregate.ts'
import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import type { AiReviewState } from '../../streams/ai-review/aggregate.ts'
import type { Decision } from '../handling/decision.ts'
import { isStarting } from './next-call.ts'

/** The review's first event says what its slot's claim says, so it can be written again after a crash. */
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

/** The start job begins, and the case has named its patient: said once, whatever is retried. */
export function startReview(command: { patientId: string; now: Date }, state: AiReviewState): Decision<AiReviewEvent> {
  if (!isStarting(state) || state.isStarted) return []
  const { patientId, now } = command
  return [{ type: 'AiReviewStarted', data: { aiReviewId: state.aiReviewId, patientId, startedAt: now.toISOString() } }]
}
