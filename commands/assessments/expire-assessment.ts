import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { AssessmentState } from '../../streams/assessment/aggregate.ts'
import type { Decision } from '../handling/decision.ts'

/** Past its deadline an assessment ends, whatever became of its review: none is stranded (invariant 4). */
export function expireAssessment(command: { now: Date }, state: AssessmentState): Decision<AssessmentEvent> {
  if (state.status !== 'processing' || Date.parse(state.deadlineAt) > command.now.getTime()) return []
  const { assessmentId, deadlineAt } = state
  const data = { assessmentId, aiReviewId: null, code: 'ANALYSIS_TIMEOUT' as const, failedAt: deadlineAt }
  return [{ type: 'AssessmentFailed', data }]
}
