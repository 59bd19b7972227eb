import { Type, type Static } from 'typebox'
import { v5 } from 'uuid'
import { takeSlot, type TakeSlot } from '../../commands/ai-review/take-slot.ts'
import { openSlotHolder } from '../../commands/ai-review/open-slot-holder.ts'
import { successorOf } from '../../commands/ai-review/slot-holder.ts'
import { confirmConsent, withdrawConsent } from '../../commands/ai-review/withdraw-consent.ts'
import { execute } from '../../engine/commands/execute.ts'
import { aiReviews, requiredConsentCode } from '../../streams/ai-review/aggregate.ts'
import { aiReviewSlots, type SlotHolder } from '../../streams/ai-review-slot/aggregate.ts'
import { aiReviewChannelStream } from '../../streams/channels/ai-review.ts'
import type { ProcessDependencies, ProcessStep } from '../dependencies.ts'
import { readChannelEvent } from '../../engine/relay/channel.ts'
import { appends, callOutside } from '../../engine/processes/attempt.ts'
import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepOutcome } from '../../engine/processes/process.ts'
import { derivedV7 } from '../../engine/processes/step-identity.ts'

/** The place of the request on the channel. */
export const ClaimPayload = Type.Object({ channelRevision: Type.String() })
export type ClaimPayload = Static<typeof ClaimPayload>

export const OpenPayload = Type.Object({ caseId: Type.String(), productId: Type.String() })
export type OpenPayload = Static<typeof OpenPayload>

/** Takes the slot of (case, product), or answers the request with the review that holds it. */
export const claim: ProcessStep<ClaimPayload> = async (todo, deps) => {
  const { channelRevision } = todo.payload
  const { data, id } = await readChannelEvent(deps.store, aiReviewChannelStream, channelRevision, [
    'ai_review.requested',
  ])
  const { orgId, caseId, productId } = data
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
  return takeSlotAndOpen(todo, command, deps)
}

/** Takes the slot of a request event and opens the review, or answers the request. */
export async function takeSlotAndOpen(todo: Todo, command: TakeSlot, deps: ProcessDependencies): Promise<StepOutcome> {
  const { orgId, caseId, productId } = command
  const target = aiReviewSlots.of(orgId, caseId, productId)
  const context = todo.command('ai-review.claim')
  // A case seldom has a second review of a product.
  const expected = { ...target, isNew: true }
  const { state, position, events } = await execute(deps.store, expected, (slot) => takeSlot(command, slot), context)
  if (events[0]?.type !== 'AiReviewSlotClaimed' || state.status === 'free') return { kind: 'done', position }
  deps.failpoint('slot-claimed')
  return openHolder(todo, state.holder, deps, { isNew: true })
}

/**
 * After a crash that followed the claim: ends the superseded review and writes the first event of the new one. If the
 * review no longer holds the slot, it has its first event already, because only a review with its first event can be
 * superseded.
 */
export const open: ProcessStep<OpenPayload> = async (todo, deps) => {
  const { caseId, productId } = todo.payload
  const target = aiReviewSlots.of(todo.orgId, caseId, productId)
  const { state } = await deps.store.load(target)
  if (state.status === 'free' || state.holder.aiReviewId !== todo.key) return { kind: 'done' }
  return openHolder(todo, state.holder, deps)
}

async function openHolder(
  todo: Todo,
  holder: SlotHolder,
  deps: ProcessDependencies,
  opening: { readonly isNew?: boolean } = {},
): Promise<StepOutcome> {
  const contexts = {
    count: todo.attempt(),
    supersede: todo.command('ai-review.supersede'),
    open: todo.command('ai-review.open'),
  }
  return { kind: 'done', position: await openSlotHolder(deps, holder, contexts, opening) }
}

/**
 * Ends a review whose consent was withdrawn or denied, unless a later decision overrides this. A backdated withdrawal
 * never overrides. If the consent service does not answer, the review ends. If a call is running, the end is found when
 * its outcome is recorded. A review that has lost its slot is not ended here: the review that replaced it ends it. One
 * decision may end several reviews of its patient.
 */
export const withdraw: ProcessStep = async (todo, { store, consent }, step) => {
  const { orgId } = todo
  const target = aiReviews.of(orgId, todo.key)
  const context = todo.command('ai-review.withdraw', todo.key)
  const { state: review } = await store.load(target)
  if (review.status !== 'absent' && (await successorOf(store, review)) !== null) return { kind: 'done' }
  const patientId = review.status === 'absent' ? null : review.patientId
  const question = { orgId, patientId: patientId ?? '', code: requiredConsentCode }
  const checked = patientId === null ? null : await callOutside(step, (signal) => consent.check(question, signal))
  const isConfirmed = checked?.answer === 'granted'
  const decide = isConfirmed ? confirmConsent : withdrawConsent
  const confirmation = { ...context, commandId: v5('confirmed', context.commandId) }
  return appends(store, target, (state) => decide({ now: todo.dueAt }, state), isConfirmed ? confirmation : context)
}
