import { Type, type Static } from 'typebox'
import { concludeAssessment, type ReviewEnd } from '../../commands/assessments/conclude-assessment.ts'
import { renewReview } from '../../commands/assessments/request-review.ts'
import { reviewImagesOf } from '../../commands/assessments/request-review.ts'
import { successorOf } from '../../commands/ai-review/slot-holder.ts'
import { execute } from '../../engine/commands/execute.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { aiReviewChannelStream, type AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import { signedImages } from '../ai-review/signed-images.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'
import { readChannelEvent, type Recorded } from '../../engine/relay/channel.ts'
import { openMissingCase } from './assessments.steps.ts'
import { appends, callOutside } from '../../engine/processes/attempt.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext, StepOutcome } from '../../engine/processes/process.ts'
import { waitByAge } from './wait-by-age.ts'

/** The event that ended the review: its place on the channel, and the review. */
export const ConcludePayload = Type.Object({ channelRevision: Type.String(), aiReviewId: Type.String() })
export type ConcludePayload = Static<typeof ConcludePayload>

const ends = ['ai_review.completed', 'ai_review.failed', 'ai_review.cancelled'] as const
export type ReviewEnded = Extract<AiReviewChannelEvent, { type: (typeof ends)[number] }>

/**
 * Ends the assessment when the review of its case ends. If the review no longer holds its slot, its successor ends the
 * assessment, and `ai_review.superseded` removes the row.
 */
export const conclude: ProcessStep<ConcludePayload> = async (todo, deps, step) => {
  const ended = await readChannelEvent(deps.store, aiReviewChannelStream, todo.payload.channelRevision, ends)
  // Fresh: the next append is to the assessment, whose stream does not show that the review was replaced.
  if ((await successorOf(deps.store, ended.data, 'load')) !== null) return { kind: 'done' }
  const renewal = hasExpired(ended) ? await renew(todo, deps, step, ended) : 'none'
  if (typeof renewal === 'object') return renewal

  const { aiReviewId } = ended.data
  const end = renewal === 'over-budget' ? overBudget : endOf(ended)
  const command = { aiReviewId, end, now: todo.dueAt }
  const target = assessments.of(todo.orgId, todo.key)
  const context = todo.command('assessments.conclude')
  // A review may fail before the route has opened the case. If the route has died, the end would remove the row that opens it.
  await openMissingCase(todo, deps)
  return appends(deps.store, target, (state) => concludeAssessment(command, state), context)
}

function hasExpired(ended: Recorded<ReviewEnded>): boolean {
  if (ended.type !== 'ai_review.failed') return false
  return ended.data.errorClassification === 'image_fetch_failed' && ended.data.addressesExpired === true
}

/**
 * The review failed because the addresses from its caller had expired. Replaces it by a review that reads the images of
 * the assessment, once per assessment. If the review cannot be replaced, the assessment fails with the reason of the
 * review, or because the budget is used up. While the AI-review service is away the row waits, at most until the deadline
 * ends the assessment. `ai_review.superseded` removes the row, even if the answer of the call was lost.
 */
async function renew(
  todo: Todo,
  deps: ProcessDependencies,
  step: StepContext,
  { data }: Recorded<ReviewEnded>,
): Promise<StepOutcome | 'none' | 'over-budget'> {
  const { aiReviewId } = data
  const { orgId } = todo
  const context = todo.command('assessments.renew-review')
  const { state } = await execute(
    deps.store,
    assessments.of(orgId, todo.key),
    (current) => renewReview({ aiReviewId, now: todo.dueAt }, current),
    context,
  )
  if (state.status !== 'processing' || state.renewedReviewId !== aiReviewId) return 'none'

  const images = await signedImages(deps, orgId, reviewImagesOf(state))
  const request = { orgId, aiReviewId, images, reason: 'expired addresses', idempotencyKey: data.event_id }
  const answer = await callOutside(step, (signal) => deps.reviews.supersede(request, signal))
  if (answer.kind === 'unavailable')
    return { kind: 'retry', after: waitByAge(todo, step), reason: `ai_review_${answer.status ?? 'unanswered'}` }
  if (answer.kind === 'over-budget') return 'over-budget'
  return answer.kind === 'refused' ? 'none' : { kind: 'done' }
}

const overBudget: ReviewEnd = { kind: 'failed', classification: 'budget_exceeded' }

function endOf(event: Recorded<ReviewEnded>): ReviewEnd {
  switch (event.type) {
    case 'ai_review.completed':
      return {
        kind: 'completed',
        aiProvider: event.data.aiProvider,
        lesions: event.data.lesions,
        imageQuality: event.data.imageQuality,
      }
    case 'ai_review.failed':
      return { kind: 'failed', classification: event.data.errorClassification }
    case 'ai_review.cancelled':
      return { kind: 'cancelled', reason: event.data.reason }
  }
}
