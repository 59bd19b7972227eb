import { isOver, pollAfterSeconds } from '../../contracts/ai-review/record.ts'
import { invalidMember, problem, requireValid } from '../../platform/http/problems.ts'
import { latest } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { namedId } from '../../platform/kit/named-id.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { aiReviewsProjector } from '../../projections/ai-review/ai-reviews.projector.ts'
import { aiReviewSlots } from '../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { refuseClosedCase } from '../clinical/require-open-case.ts'
import { requireLivingPatient } from '../clinical/require-patient.ts'
import { acceptedOrFound } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { loadExisting } from '../../engine/commands/execute.ts'
import { longPoll } from '../../engine/commands/long-poll.ts'
import { onceByKey } from '../../engine/commands/once-by-key.ts'
import { CreateAiReviewBody, CreateAiReviewReply } from './bodies.ts'
import { claimSlot, completeClaim } from './claim-slot.ts'
import { claimWithinBudget, type BudgetDependencies } from './count-review.ts'
import { imageErrors, imageRules, toReviewImages } from './image-addresses.ts'
import { hasEnded } from './next-call.ts'
import { openSlotHolder, openingOf } from './open-slot-holder.ts'
import { keyedOutcomeOf } from './supersede-review.ts'

/** Specification 4.5: a review at the request of a client. It publishes no `ai_review.requested`. */
export function createRoute(app: ServiceApp, deps: BudgetDependencies): void {
  const { store } = deps
  const rules = imageRules(deps)

  commandRoute(app, deps, {
    method: 'POST',
    path: '/ai-reviews',
    operationId: 'createAiReview',
    summary: 'Start an AI review of a case, or get the one that holds its slot',
    description:
      'At most one review of a case and a product counts. Without `supersede`, a request for a taken slot answers 200 with that review. `productId` defaults to the product of the token. The platform uses the addresses of the images unchanged, adds no signature to them, and stores them encrypted. They do not belong to the content of a request with an Idempotency-Key: a repeat may have fresh ones.',
    access: { scopes: ['ai-review:create'] },
    body: CreateAiReviewBody,
    fingerprinted: ({ images, ...body }) => ({
      ...body,
      images: images.map(({ presignedUrl: _, presignedUrlExpiresAt: __, ...image }) => image),
    }),
    takesWait: true,
    reply: acceptedOrFound(CreateAiReviewReply, ({ aiReviewId }) => `/ai-reviews/${aiReviewId}`),
    readBy: [aiReviewsProjector],
    problems: ['budget-exceeded', 'case-closed', 'case-not-found', 'product-required', 'subject-erased'],
    handle: async ({ tenant, caller, body, keyed, newId, now, context, run, reply }) => {
      const { caseId, productId = caller.productId } = body
      if (productId === null) throw problem('product-required')
      const patientId = await patientOfCase(deps, tenant, caseId)
      if (patientId === null)
        throw invalidMember('/caseId', 'is not a case of the organisation', 'unknown-case', 'case-not-found')
      if (body.patientId !== undefined && body.patientId !== patientId)
        throw invalidMember('/patientId', 'is not the patient of the case', 'other-patient')
      await requireLivingPatient(deps, tenant, patientId)
      const request = keyed.causing
      const slot = aiReviewSlots.of(tenant, caseId, productId)
      const isRepeat = async () =>
        request !== null && keyedOutcomeOf({ request }, (await store.load(slot)).state) !== undefined
      // A repeat gets the answer of the first request, also when addresses have expired since.
      if (!(await isRepeat())) {
        requireValid(imageErrors(body.images, { ...rules, now: deps.now() }))
        await refuseClosedCase(deps, tenant, caseId)
      }
      const command = {
        // A repeat after a crash has the same id, so its review counts once in the budget of the day.
        aiReviewId: await newId(`review of ${caseId} and ${productId}`),
        caseId,
        productId,
        orgId: tenant,
        patientId,
        correlationId: body.correlationId ?? null,
        ...toReviewImages(body.images),
        request,
        isSuperseding: body.supersede === true,
        now,
      }

      const owner = {
        orgId: tenant,
        ownerId: namedId(productId, caseId),
        ownerStream: slot.stream,
        hasHappened: isRepeat,
      }
      const done = await onceByKey(deps, keyed, owner, context, () =>
        claimWithinBudget(
          deps,
          command,
          context,
          (state) => claimSlot(command, state),
          (decide, countFirst) =>
            run(slot, decide, async (revision) => {
              await completeClaim(deps, command, context)
              await countFirst(revision)
            }),
        ),
      )
      const { holder } = done.state
      const known = keyedOutcomeOf(command, done.state)
      const aiReviewId = known?.aiReviewId ?? holder.aiReviewId
      // A review that was superseded in turn is already open.
      const opened =
        aiReviewId === holder.aiReviewId ? await openSlotHolder(deps, holder, openingOf(context)) : undefined
      const isFound = known === undefined ? aiReviewId !== command.aiReviewId : !known.isNew
      const review = aiReviews.of(tenant, aiReviewId)
      // Without `Prefer: wait` the answer shows a new review at its beginning, also for a repeat.
      const state = isFound ? (await store.load(review)).state : aiReviews.initialState
      const held = await longPoll(store, reply, review, state, hasEnded)
      const status = held.state.status === 'absent' ? 'pending' : held.state.status
      return {
        ...done,
        record: { aiReviewId, status },
        reached: latest(done.reached, opened, held.position),
        isFound,
        isReplayed: keyed.isKeyed && done.events.length === 0,
        retryAfterSeconds: isOver(status) ? undefined : pollAfterSeconds,
      }
    },
  })
}

/** Null for an unknown case. An opened case keeps its patient, so cached state is enough. */
export async function patientOfCase(
  { store }: Pick<CommandDependencies, 'store'>,
  orgId: TenantId,
  caseId: string,
): Promise<string | null> {
  const state = await loadExisting(store, cases.of(orgId, caseId))
  return state.status === 'absent' ? null : state.patientId
}
