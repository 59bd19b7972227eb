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
 * Records what the task has come to and the assessment does not contain yet. The task may have been decided before its
 * opening was recorded here. Claims, releases and opinions change nothing. The record shows the task of the newest
 * review, in whatever order the tasks come here. The decision about an older review is recorded all the same.
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
