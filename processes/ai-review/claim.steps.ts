import { v5 } from 'uuid'
import { claimSlot } from '../../commands/ai-review/claim-slot.ts'
import { openClaimedReview } from '../../commands/ai-review/open-claimed-review.ts'
import { successorOf } from '../../commands/ai-review/slot-holder.ts'
import { confirmConsent, withdrawConsent } from '../../commands/ai-review/withdraw-consent.ts'
import { execute } from '../../commands/handling/execute.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { aiReviewSlots, type SlotClaim } from '../../streams/ai-review-slot/aggregate.ts'
import { aiReviewChannel, type AiReviewChannelEvent } from '../../streams/channels/ai-review.ts'
import { readChannelEvent } from '../relay/channel-event.ts'
import type { ProcessDependencies } from '../dependencies.ts'
import type { StepContext, StepOutcome, Todo } from '../runtime/process.ts'
import { derivedV7 } from '../runtime/derived-id.ts'
import { stepCommand } from '../runtime/step-command.ts'
import { orgOf, readCause } from '../runtime/step-identity.ts'
import { throwIfStopping } from '../runtime/stopping.ts'
import { requiredConsentCode, type ClaimPayload, type OpenPayload } from './ai-review.process.ts'

type Requested = Extract<AiReviewChannelEvent, { type: 'ai_review.requested' }>

/** Takes the slot of (case, product), or answers the request with the review that holds it. */
export async function claim(todo: Todo, deps: ProcessDependencies): Promise<StepOutcome> {
  const { channelRevision } = todo.payload as ClaimPayload
  const { data, id } = await readChannelEvent<Requested>(deps.store, aiReviewChannel, BigInt(channelRevision))
  const { orgId, caseId, productId } = data
  const target = aiReviewSlots.of(orgId, caseId, productId)
  const command = {
    aiReviewId: derivedV7(id, todo.dueAt),
    caseId,
    productId,
    orgId,
    patientId: data.patientId ?? null,
    correlationId: data.correlationId,
    images: data.images.map(({ presignedUrl: _, presignedUrlExpiresAt: __, ...image }) => image),
    addresses: null,
    requestEventId: id,
    now: todo.dueAt,
  }
  const context = stepCommand({ name: 'ai-review.claim', ...readCause(todo), orgId })
  const { state, position, events } = await execute(deps.store, target, (slot) => claimSlot(command, slot), context)
  if (events[0]?.type !== 'AiReviewSlotClaimed' || state.status === 'free') return { kind: 'done', position }
  deps.failpoint('slot-claimed')
  return openClaimed(state.claim, deps, { eventId: id, correlationId: readCause(todo).correlationId }, { isNew: true })
}

/**
 * Tells the superseded review and writes the new one's first event where a crash came between the claim and either. A
 * review that does not hold the slot any more was opened: only an open one can be superseded.
 */
export async function open(todo: Todo, deps: ProcessDependencies): Promise<StepOutcome> {
  const { caseId, productId } = todo.payload as OpenPayload
  const target = aiReviewSlots.of(orgOf(todo), caseId, productId)
  const { state } = await deps.store.load(target)
  if (state.status === 'free' || state.claim.aiReviewId !== todo.key) return { kind: 'done' }
  return openClaimed(state.claim, deps, readCause(todo))
}

async function openClaimed(
  claimed: SlotClaim,
  deps: ProcessDependencies,
  cause: { readonly eventId: string; readonly correlationId: string },
  opening: { readonly isNew?: boolean } = {},
): Promise<StepOutcome> {
  const command = (name: string) => stepCommand({ name, ...cause, orgId: claimed.orgId })
  const contexts = { supersede: command('ai-review.supersede'), open: command('ai-review.open') }
  return { kind: 'done', position: await openClaimedReview(deps, claimed, contexts, opening) }
}

/**
 * Ends a review whose consent was withdrawn or denied (T24), unless a later decision overrides that one: a backdated
 * withdrawal never does. Where that cannot be told, the review ends. A call in flight meets this when it records its outcome.
 * A review that lost its slot has no end of its own. One decision may end several reviews of its patient.
 */
export async function withdraw(
  todo: Todo,
  { store, consent }: ProcessDependencies,
  step: StepContext,
): Promise<StepOutcome> {
  const orgId = orgOf(todo)
  const target = aiReviews.of(orgId, todo.key)
  const context = stepCommand({ name: 'ai-review.withdraw', ...readCause(todo), key: todo.key, orgId })
  const { state: review } = await store.load(target)
  if (review.status !== 'absent' && (await successorOf(store, review)) !== null) return { kind: 'done' }
  const isConfirmed =
    review.status !== 'absent' &&
    review.patientId !== null &&
    (await consent.check({ orgId, patientId: review.patientId, code: requiredConsentCode }, step.signal)) === 'granted'
  throwIfStopping(step.signal)
  const decide = isConfirmed ? confirmConsent : withdrawConsent
  const confirmation = { ...context, commandId: v5('confirmed', context.commandId) }
  const { position } = await execute(
    store,
    target,
    (state) => decide({ now: todo.dueAt }, state),
    isConfirmed ? confirmation : context,
  )
  return { kind: 'done', position }
}
