import { Type, type Static } from 'typebox'
import { recordHumanReview } from '../../commands/assessments/record-human-review.ts'
import { appends } from '../../engine/processes/attempt.ts'
import { loadSufficient } from '../../engine/commands/execute.ts'
import { assessments, hasEnded } from '../../streams/assessment/aggregate.ts'
import { humanReviewTasks } from '../../streams/human-review-task/aggregate.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext, StepOutcome } from '../../engine/processes/process.ts'
import { waitByAge } from './wait-by-age.ts'

/** The assessment of the task. */
export const FollowPayload = Type.Object({ assessmentId: Type.String() })

/**
 * Brings a task to its assessment, once the assessment has ended. Until then another review may still end it, at the
 * latest its deadline does. The step reads the task as it is now, so it does not matter which event of the task came
 * first, or before the end of the assessment.
 */
export async function followTask(
  todo: Todo<Static<typeof FollowPayload>>,
  { store }: ProcessDependencies,
  step: Pick<StepContext, 'now'>,
): Promise<StepOutcome> {
  const { orgId, key: taskId, payload } = todo
  const target = assessments.of(orgId, payload.assessmentId)
  if (!hasEnded(await loadSufficient(store, target, hasEnded)))
    return { kind: 'retry', after: waitByAge(todo, step), reason: 'assessment_not_ended' }
  // Loads fresh state, because no append validates it.
  const { state: task } = await store.load(humanReviewTasks.of(orgId, taskId))
  if (task.status === 'absent') throw new Error('an assessment follows a task that was never opened')
  // A repeat may find the task in a later state, and then appends other events. So they need another id.
  const reached = task.status === 'claimed' ? 'open' : task.status
  return appends(
    store,
    target,
    (state) => recordHumanReview({ task }, state),
    todo.command(`assessments.follow-task.${reached}`, taskId),
  )
}
