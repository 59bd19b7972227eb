import { hasEnded, type AssessmentState } from '../../streams/assessment/aggregate.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { HumanReviewTask } from '../../streams/human-review-task/aggregate.ts'
import type { Decision } from '../handling/decision.ts'

export interface RecordHumanReview {
  /** The task of the AI review that ended the assessment. */
  readonly task: Pick<HumanReviewTask, 'taskId' | 'status' | 'openedAt' | 'updatedAt' | 'decidedAt' | 'agreesWithAi'>
}

/**
 * Records what the task has come to and the assessment does not contain yet. The task may have been decided before its
 * opening was recorded here. Claims, releases and opinions change nothing.
 */
export function recordHumanReview({ task }: RecordHumanReview, state: AssessmentState): Decision<AssessmentEvent> {
  if (!hasEnded(state) || (state.humanReview !== null && state.humanReview.status !== 'open')) return []
  const { assessmentId } = state
  const { taskId, status, openedAt, updatedAt, decidedAt, agreesWithAi } = task
  const named = { assessmentId, taskId }
  const events: AssessmentEvent[] = []
  if (state.humanReview === null) events.push({ type: 'AssessmentHumanReviewOpened', data: { ...named, openedAt } })
  if (status === 'cancelled')
    events.push({ type: 'AssessmentHumanReviewCancelled', data: { ...named, cancelledAt: updatedAt } })
  if (status === 'decided' && decidedAt !== null && agreesWithAi !== null)
    events.push({ type: 'AssessmentHumanReviewDecided', data: { ...named, agreesWithAi, decidedAt } })
  return events
}
