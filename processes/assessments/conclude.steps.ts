import { concludeAssessment, type ReviewEnd } from '../../commands/assessments/conclude-assessment.ts'
import { renewReview } from '../../commands/assessments/request-review.ts'
import { reviewImagesOf } from '../../commands/assessments/request-review.ts'
import { successorOf } from '../../commands/ai-review/slot-holder.ts'
import { execute } from '../../commands/handling/execute.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { aiReviewChannel, type AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import { signedImages } from '../ai-review/signed-images.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import { readChannelEvent } from '../relay/channel-event.ts'
import type { StepContext, StepOutcome, Todo } from '../runtime/process.ts'
import { stepCommand } from '../runtime/step-command.ts'
import { orgOf, readCause } from '../runtime/step-identity.ts'
import { throwIfStopping } from '../runtime/stopping.ts'
import type { ConcludePayload } from './assessments.process.ts'

type Ended = Extract<AiReviewChannelEvent, { type: 'ai_review.completed' | 'ai_review.failed' | 'ai_review.cancelled' }>

/**
 * Turns the end of the case's review into the end of the assessment, unless that review does not hold its slot any more:
 * then the one that does ends the assessment (T28). Its successor's `ai_review.superseded` takes the row away.
 */
export async function conclude(todo: Todo, deps: ProcessDependencies, step: StepContext): Promise<StepOutcome> {
  const { channelRevision } = todo.payload as ConcludePayload
  const event = await readChannelEvent<Ended>(deps.store, aiReviewChannel, BigInt(channelRevision))
  const ended = { type: event.type, data: event.data } as Ended
  if ((await successorOf(deps.store, ended.data)) !== null) return { kind: 'done' }
  if (hasExpired(ended) && (await renew(todo, deps, step, ended))) return { kind: 'done' }

  const { aiReviewId } = ended.data
  const command = { aiReviewId, end: endOf(ended), now: todo.dueAt }
  const context = stepCommand({ name: 'assessments.conclude', ...readCause(todo), orgId: orgOf(todo) })
  const done = await execute(deps.store, targetOf(todo), (state) => concludeAssessment(command, state), context)
  return { kind: 'done', position: done.position }
}

function targetOf(todo: Todo) {
  return assessments.of(orgOf(todo), todo.key)
}

function hasExpired(ended: Ended): boolean {
  if (ended.type !== 'ai_review.failed') return false
  return ended.data.errorClassification === 'image_fetch_failed' && ended.data.addressesExpired === true
}

/**
 * A review read from addresses that a caller gave, and they had expired: has it replaced by one that reads the images of the
 * assessment (T30), once per assessment. False where the failure stands. `ai_review.superseded` takes the row away, also where
 * the answer was lost.
 */
async function renew(todo: Todo, deps: ProcessDependencies, step: StepContext, { data }: Ended): Promise<boolean> {
  const { aiReviewId } = data
  const context = stepCommand({ name: 'assessments.renew-review', ...readCause(todo), orgId: orgOf(todo) })
  const { state } = await execute(
    deps.store,
    targetOf(todo),
    (current) => renewReview({ aiReviewId, now: todo.dueAt }, current),
    context,
  )
  if (state.status !== 'processing' || state.renewedReviewId !== aiReviewId) return false

  const images = await signedImages(deps, orgOf(todo), reviewImagesOf(state))
  const request = { orgId: orgOf(todo), aiReviewId, images, reason: 'expired addresses', idempotencyKey: data.event_id }
  const answer = await deps.reviews.supersede(request, step.signal)
  throwIfStopping(step.signal)
  // Tried again, later and later, until the deadline ends the assessment.
  if (answer.kind === 'unavailable')
    throw new Error(`the AI-review service takes no supersede: ${answer.status ?? 'no answer'}`)
  return answer.kind !== 'refused'
}

function endOf(event: Ended): ReviewEnd {
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
