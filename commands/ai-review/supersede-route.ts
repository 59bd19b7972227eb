import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { accepted, latest, requireMatch } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { outboundRules } from '../../platform/outbound/own-servers.ts'
import { problem } from '../../platform/http/problems.ts'
import { isOver, pollAfterSeconds } from '../../contracts/ai-review/record.ts'
import { aiReviewSlots } from '../../streams/ai-review-slot/aggregate.ts'
import { aiReviews, type AiReviewState } from '../../streams/ai-review/aggregate.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute } from '../handling/execute.ts'
import { holdForEnd } from '../handling/hold-for-end.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { SupersedeAiReviewBody, SupersedeAiReviewReply } from './bodies.ts'
import { imageErrors, toReviewImages } from './image-addresses.ts'
import { openClaimedReview, openingOf } from './open-claimed-review.ts'
import { keyedClaimOf, supersedeSlot, type SupersedeSlot } from './supersede-slot.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

export interface SupersedeRouteDependencies extends CommandDependencies {
  /** A UUID v7. */
  readonly newId: () => string
}

export function supersedeRoute(app: ServiceApp, deps: SupersedeRouteDependencies): void {
  const { store, vault, configuration, now, newId } = deps
  const outbound = outboundRules(configuration)
  const objectStores = [configuration.s3Endpoint, configuration.s3PublicEndpoint]

  app.post(
    '/ai-reviews/:id/supersede',
    {
      schema: {
        operationId: 'supersedeAiReview',
        summary: 'Replace an AI review by a new one with fresh image addresses',
        description:
          'Any review that holds the slot of its case and product can be superseded, an ended one too. The addresses of the images are used as they are: the platform adds no signature to them, and stores them encrypted.',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        body: SupersedeAiReviewBody,
        response: answers({ 202: SupersedeAiReviewReply }, ['ai-review-already-superseded', ...keyProblems]),
      },
      config: { access: { scopes: ['ai-review:supersede'] }, takesIfMatch: true, takesWait: true },
    },
    async (request, reply) => {
      const { body, caller, params, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      const supersededAiReviewId = params.id.toLowerCase()
      const target = reviewTarget(orgId, supersededAiReviewId)
      const { state: old } = await store.load(target)
      if (old.status === 'absent') throw problem('not-found')
      const { caseId, productId, patientId, correlationId } = old
      // The patient's key seals the addresses. A review without a patient gets one when it starts.
      if (patientId === null) throw problem('conflict')
      const command: SupersedeSlot = {
        aiReviewId: newId(),
        caseId,
        productId,
        orgId,
        patientId,
        correlationId,
        ...toReviewImages(body.images),
        supersedes: { aiReviewId: supersededAiReviewId, reason: body.reason ?? null },
        request: keyedRequest(request, orgId, vault, body).causing,
        now: now(),
      }
      if (!(await isRepeat(command))) requireAddresses(body)

      const context = commandContext(request, { orgId })
      const done = await execute(
        store,
        slotTarget(command),
        (state) => supersedeSlot(command, state),
        context,
        async () => {
          requireMatch(request, (await store.load(target)).revision)
        },
      )
      if (done.state.status === 'free') throw problem('internal-error')
      const { claim } = done.state
      const aiReviewId = keyedClaimOf(command, done.state)?.aiReviewId ?? claim.aiReviewId
      // One that was superseded in turn was opened before.
      const opened =
        aiReviewId === claim.aiReviewId ? await openClaimedReview(deps, claim, openingOf(context)) : undefined
      // Who does not wait is told how it begins, at each repeat.
      const held = await holdForEnd(store, reply, reviewTarget(orgId, aiReviewId), aiReviews.initialState, hasEnded)
      const status = held.state.status === 'absent' ? 'pending' : held.state.status
      return accepted(reply, {
        body: { aiReviewId, status, supersededAiReviewId },
        location: `/ai-reviews/${aiReviewId}`,
        projectors: ['ai_reviews'],
        position: latest(done.reached, opened, held.position),
        isReplayed: done.events.length === 0,
        ...(isOver(status) ? {} : { retryAfterSeconds: pollAfterSeconds }),
      })
    },
  )

  /** A repeat is answered as the first was, whatever has expired since. */
  async function isRepeat(command: SupersedeSlot): Promise<boolean> {
    if (command.request === null) return false
    const { fold, stream } = slotTarget(command)
    return keyedClaimOf(command, (await store.load({ fold, stream })).state) !== undefined
  }

  function requireAddresses({ images }: SupersedeAiReviewBody): void {
    const errors = imageErrors(images, { outbound, objectStores, now: now() })
    if (errors.length > 0) throw problem('validation-failed', { errors })
  }
}

function reviewTarget(orgId: TenantId, aiReviewId: string) {
  return aiReviews.of(orgId, aiReviewId)
}

function slotTarget({ orgId, caseId, productId }: SupersedeSlot) {
  return aiReviewSlots.of(orgId, caseId, productId)
}

function hasEnded(state: AiReviewState): boolean {
  return state.status !== 'absent' && isOver(state.status)
}
