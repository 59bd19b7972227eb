import { concludeAssessment, type ConcludeAssessment } from '../../commands/assessments/conclude-assessment.ts'
import { expireAssessment } from '../../commands/assessments/expire-assessment.ts'
import { appends } from '../../engine/processes/attempt.ts'
import { isOf } from '../../engine/relay/channel.ts'
import { aiReviewSlots } from '../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import { assessments, type AssessmentState, type ProcessingAssessment } from '../../streams/assessment/aggregate.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'
import { openMissingCase } from './assessments.steps.ts'

/** Ends an assessment whose deadline has passed. A result that came before the deadline counts, however late this runs. */
export const expire: ProcessStep = async (todo, deps, step) => {
  const command = { now: step.now() }
  const target = assessments.of(todo.orgId, todo.key)
  const context = todo.command('assessments.expire')
  // The route may have died before it opened the case, and this end removes the row that would open it.
  const assessment = await openMissingCase(todo, deps)
  const result = assessment && (await resultInTime(assessment, deps))
  const decide = (state: AssessmentState) =>
    result === undefined ? expireAssessment(command, state) : concludeAssessment(result, state)
  return appends(deps.store, target, decide, context)
}

/**
 * The result of the review that holds the slot, if the review completed before the deadline. No processor may have run since, so
 * it may be missing on the channel, or `conclude` is due at once with this step.
 */
async function resultInTime(
  { organisationId: orgId, caseId, productId, deadlineAt }: ProcessingAssessment,
  { store }: Pick<ProcessDependencies, 'store'>,
): Promise<ConcludeAssessment | undefined> {
  const { state: slot } = await store.load(aiReviewSlots.of(orgId, caseId, productId))
  if (slot.status === 'free') return undefined
  const { aiReviewId } = slot.holder
  const last = await store.readLast<AiReviewEvent>(aiReviews.of(orgId, aiReviewId).stream)
  if (last === undefined || !isOf(last, ['AiReviewCompleted'])) return undefined
  const { aiProvider, lesions, imageQuality, completedAt } = last.data
  if (Date.parse(completedAt) > Date.parse(deadlineAt)) return undefined
  return { aiReviewId, end: { kind: 'completed', aiProvider, lesions, imageQuality }, now: new Date(completedAt) }
}
