import { isOver, pollAfterSeconds } from '../../contracts/ai-review/record.ts'
import { problem, requireValid } from '../../platform/http/problems.ts'
import { latest, requireMatch } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { aiReviewsProjector } from '../../projections/ai-review/ai-reviews.projector.ts'
import { aiReviewSlots } from '../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { refuseClosedCase } from '../clinical/require-open-case.ts'
import { requireLivingPatient } from '../clinical/require-patient.ts'
import { accepted, changed } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { createKeyedLock } from '../../engine/commands/keyed-lock.ts'
import { longPoll } from '../../engine/commands/long-poll.ts'
import { CancelAiReviewReply, SupersedeAiReviewBody, SupersedeAiReviewReply } from './bodies.ts'
import { claimWithinBudget } from './count-review.ts'
import { createRoute, patientOfCase } from './create-route.ts'
import { completeClaim } from './claim-slot.ts'
import { cancelReview, isSameRequest } from './cancel-review.ts'
import { imageErrors, imageRules, toReviewImages } from './image-addresses.ts'
import { hasEnded } from './next-call.ts'
import { openSlotHolder, openingOf } from './open-slot-holder.ts'
import { successorOf } from './slot-holder.ts'
import { keyedOutcomeOf, supersedeSlot, type SupersedeSlot } from './supersede-review.ts'

/**
 * How long a claim waits for the earlier ones of its organisation, in milliseconds. A caller should learn within seconds
 * that the event store is away, however many wait.
 */
const mostWaitMs = 4_000

export function aiReviewWriteRoutes(app: ServiceApp, given: CommandDependencies): void {
  const deps = { ...given, inTurn: createKeyedLock(mostWaitMs) }
  const { store } = deps
  const rules = imageRules(deps)

  createRoute(app, deps)

  commandRoute(app, deps, {
    method: 'POST',
    path: '/ai-reviews/:id/cancel',
    operationId: 'cancelAiReview',
    summary: 'Cancel an AI review that has not ended',
    description: 'The provider is not informed. A cancelled review keeps its slot until it is superseded.',
    access: { scopes: ['ai-review:cancel'] },
    hasEtag: true,
    ifMatch: 'stream',
    reply: changed(CancelAiReviewReply),
    readBy: [aiReviewsProjector],
    problems: ['ai-review-not-cancellable', 'subject-erased'],
    handle: async ({ tenant, params: { id: aiReviewId }, keyed, now, context, run }) => {
      const target = aiReviews.of(tenant, aiReviewId)
      const { state: known } = await store.load(target)
      const successor = known.status === 'absent' ? null : await successorOf(store, known)
      // A request that superseded the review did not finish. Finish it first, so the review ends in no other way.
      if (successor !== null) await openSlotHolder(deps, successor, openingOf(context))
      const command = { request: keyed.causing, now }
      const done = await run(target, (state) => cancelReview(command, state))
      const isReplayed = done.events.length === 0 && isSameRequest(command, done.state)
      const { patientId } = done.state
      return { ...done, record: { aiReviewId, status: 'cancelled' as const }, isReplayed, patientId }
    },
  })

  commandRoute(app, deps, {
    method: 'POST',
    path: '/ai-reviews/:id/supersede',
    operationId: 'supersedeAiReview',
    summary: 'Replace an AI review by a new one with fresh image addresses',
    description:
      'Any review that holds the slot of its case and product can be superseded, also after its end. The platform uses the addresses of the images unchanged, adds no signature to them, and stores them encrypted.',
    access: { scopes: ['ai-review:supersede'] },
    body: SupersedeAiReviewBody,
    ifMatch: 'record',
    takesWait: true,
    reply: accepted(SupersedeAiReviewReply, ({ aiReviewId }) => `/ai-reviews/${aiReviewId}`),
    readBy: [aiReviewsProjector],
    problems: ['ai-review-already-superseded', 'budget-exceeded', 'case-closed', 'subject-erased'],
    handle: async ({
      tenant,
      params: { id: supersededAiReviewId },
      body,
      keyed,
      newId,
      now,
      context,
      run,
      request,
      reply,
    }) => {
      const target = aiReviews.of(tenant, supersededAiReviewId)
      const { state: old } = await store.load(target)
      if (old.status === 'absent') throw problem('not-found')
      const { caseId, productId, correlationId } = old
      // The patient's key seals the addresses. A review of another service gets its patient when it starts.
      const patientId = old.patientId ?? (await patientOfCase(deps, tenant, caseId))
      if (patientId === null) throw problem('conflict')
      await requireLivingPatient(deps, tenant, patientId)
      const slot = aiReviewSlots.of(tenant, caseId, productId)
      const { causing } = keyed
      // A repeat gets the answer of the first request, also when addresses have expired since.
      const isRepeat =
        causing !== null && keyedOutcomeOf({ request: causing }, (await store.load(slot)).state) !== undefined
      if (!isRepeat) {
        requireValid(imageErrors(body.images, { ...rules, now: deps.now() }))
        await refuseClosedCase(deps, tenant, caseId)
      }
      const command: SupersedeSlot = {
        aiReviewId: await newId(),
        caseId,
        productId,
        orgId: tenant,
        patientId,
        correlationId,
        ...toReviewImages(body.images),
        supersedes: { aiReviewId: supersededAiReviewId, reason: body.reason ?? null },
        request: causing,
        now,
      }

      const done = await claimWithinBudget(
        deps,
        command,
        context,
        (state) => supersedeSlot(command, state),
        (decide, countFirst) =>
          run(slot, decide, async (revision) => {
            requireMatch(request, (await store.load(target)).revision)
            await completeClaim(deps, command, context)
            await countFirst(revision)
          }),
      )
      const { holder } = done.state
      const aiReviewId = keyedOutcomeOf(command, done.state)?.aiReviewId ?? holder.aiReviewId
      // A review that was superseded in turn is already open.
      const opened =
        aiReviewId === holder.aiReviewId ? await openSlotHolder(deps, holder, openingOf(context)) : undefined
      // Without `Prefer: wait` the answer shows the review at its beginning, also for a repeat.
      const held = await longPoll(store, reply, aiReviews.of(tenant, aiReviewId), aiReviews.initialState, hasEnded)
      const status = held.state.status === 'absent' ? 'pending' : held.state.status
      return {
        ...done,
        record: { aiReviewId, status, supersededAiReviewId },
        reached: latest(done.reached, opened, held.position),
        retryAfterSeconds: isOver(status) ? undefined : pollAfterSeconds,
      }
    },
  })
}
