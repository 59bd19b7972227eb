import {
  concludeAssessment,
  type ConcludeAssessment,
  type ReviewEnd,
} from '../../commands/assessments/conclude-assessment.ts'
import { expireAssessment } from '../../commands/assessments/expire-assessment.ts'
import { appends } from '../../engine/processes/attempt.ts'
import { isOf, type Recorded } from '../../engine/relay/channel.ts'
import { aiReviewSlots } from '../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import type { AiReviewEvent } from '../../streams/ai-review/events.ts'
import { assessments, type AssessmentState, type ProcessingAssessment } from '../../streams/assessment/aggregate.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'
import { openMissingCase } from './assessments.steps.ts'

/** Ends an assessment whose deadline has passed. An end of its review before the deadline counts, however late this runs. */
export const expire: ProcessStep = async (todo, deps, step) => {
  const command = { now: step.now() }
  const target = assessments.of(todo.orgId, todo.key)
  const context = todo.command('assessments.expire')
  // The route may have died before it opened the case, and this end removes the row that would open it.
  const assessment = await openMissingCase(todo, deps)
  const inTime = assessment && (await endInTime(assessment, deps))
  const decide = (state: AssessmentState) =>
    inTime === undefined ? expireAssessment(command, state) : concludeAssessment(inTime, state)
  return appends(deps.store, target, decide, context)
}

const ends = ['AiReviewCompleted', 'AiReviewFailed', 'AiReviewCancelled'] as const
type Ended = Recorded<Extract<AiReviewEvent, { type: (typeof ends)[number] }>>

/**
 * The end of the review that holds the slot, if it came before the deadline. No processor may have run since, so it may be
 * missing on the channel, or `conclude` is due at once with this step.
 */
async function endInTime(
  { organisationId: orgId, caseId, productId, deadlineAt }: ProcessingAssessment,
  { store }: Pick<ProcessDependencies, 'store'>,
): Promise<ConcludeAssessment | undefined> {
  const { state: slot } = await store.load(aiReviewSlots.of(orgId, caseId, productId))
  if (slot.status === 'free') return undefined
  const { aiReviewId } = slot.holder
  const last = await store.readLast<AiReviewEvent>(aiReviews.of(orgId, aiReviewId).stream)
  if (last === undefined || !isOf(last, ends)) return undefined
  const [end, at] = endOf(last)
  return Date.parse(at) > Date.parse(deadlineAt) ? undefined : { aiReviewId, end, now: new Date(at) }
}

/** How the review ended, and when. */
function endOf({ type, data }: Ended): [ReviewEnd, at: string] {
  switch (type) {
    case 'AiReviewCompleted': {
      const { aiProvider, lesions, imageQuality, completedAt } = data
      return [{ kind: 'completed', aiProvider, lesions, imageQuality }, completedAt]
    }
    case 'AiReviewFailed':
      return [{ kind: 'failed', classification: data.classification }, data.failedAt]
    case 'AiReviewCancelled':
      return [{ kind: 'cancelled', reason: data.reason }, data.cancelledAt]
  }
}
