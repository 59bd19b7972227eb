import { recordHumanReview } from '../../commands/assessments/record-human-review.ts'
import { execute, loadSufficient } from '../../commands/handling/execute.ts'
import { assessments, hasEnded } from '../../streams/assessment/aggregate.ts'
import { humanReviewTaskId, humanReviewTasks } from '../../streams/human-review-task/aggregate.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import type { Todo } from '../runtime/define-process.ts'
import type { StepOutcome } from '../runtime/process.ts'

/**
 * Brings the task of the AI review that ended the assessment to the assessment. The step reads the task as it is now, so
 * it does not matter which event of the task came first, or before the end of the assessment.
 */
export async function followTask(todo: Todo, { store }: ProcessDependencies): Promise<StepOutcome> {
  const { orgId, key } = todo
  const target = assessments.of(orgId, key)
  const ended = await loadSufficient(store, target, hasEnded)
  if (!hasEnded(ended) || ended.aiReviewId === null) throw new Error('no AI review has ended the assessment')
  // Loads fresh state, because no append validates it.
  const { state: task } = await store.load(humanReviewTasks.of(orgId, humanReviewTaskId(ended.aiReviewId)))
  if (task.status === 'absent') throw new Error('the AI review of the assessment has no task')
  // A repeat may find the task in a later state, and then appends other events. So they need another id.
  const reached = task.status === 'claimed' ? 'open' : task.status
  const { position } = await execute(
    store,
    target,
    (state) => recordHumanReview({ task }, state),
    todo.command(`assessments.follow-task.${reached}`, key),
  )
  return { kind: 'done', position }
}
