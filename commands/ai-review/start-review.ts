import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import type { AiReviewState } from '../../streams/ai-review/aggregate.ts'
import type { Decision } from '../handling/decision.ts'
import { isStarting } from './next-call.ts'

/** The start job begins, and the case has named its patient: said once, whatever is retried. */
export function startReview(command: { patientId: string; now: Date }, state: AiReviewState): Decision<AiReviewEvent> {
  if (!isStarting(state) || state.isStarted) return []
  const { patientId, now } = command
  return [{ type: 'AiReviewStarted', data: { aiReviewId: state.aiReviewId, patientId, startedAt: now.toISOString() } }]
}
