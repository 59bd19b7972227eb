import { hasEnded, type AssessmentState } from '../../streams/assessment/aggregate.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import type { HumanReviewTask } from '../../streams/human-review-task/aggregate.ts'
import type { Decision } from '../../engine/commands/decision.ts'

export interface RecordHumanReview {
  /** The task of any AI review of the assessment. */
  readonly task: Pick<
    HumanReviewTask,
    'taskId' | 'aiReviewId' | 'reviewOrdinal' | 'status' | 'openedAt' | 'updatedAt' | 'decidedAt' | 'agreesWithAi'
  >
}

/**
 * Records the opening and the end of the task in the assessment, as far as the assessment lacks them. The task may
 * already be decided when its opening is recorded. Claims, releases and opinions are not recorded. The order in which
 * tasks arrive does not matter: the record shows the task of the newest review, and the decision about an older review
 * is recorded too.
 */
export function recordHumanReview({ task }: RecordHumanReview, state: AssessmentState): Decision<AssessmentEvent> {
  const { taskId, aiReviewId, reviewOrdinal, status, openedAt, updatedAt, decidedAt, agreesWithAi } = task
  if (!hasEnded(state) || state.tasks.get(taskId) === 'ended') return []
  const isNewest = state.newestOrdinal === null || reviewOrdinal >= state.newestOrdinal
  const named = { assessmentId: state.assessmentId, taskId, isNewest }
  const events: AssessmentEvent[] = []
  if (!state.tasks.has(taskId))
    events.push({ type: 'AssessmentHumanReviewOpened', data: { ...named, reviewOrdinal, openedAt } })
  if (status === 'cancelled')
    events.push({ type: 'AssessmentHumanReviewCancelled', data: { ...named, cancelledAt: updatedAt } })
  if (status === 'decided' && decidedAt !== null && agreesWithAi !== null)
    events.push({ type: 'AssessmentHumanReviewDecided', data: { ...named, aiReviewId, agreesWithAi, decidedAt } })
  return events
}
