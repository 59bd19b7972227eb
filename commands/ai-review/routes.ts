import { Type } from 'typebox'
import { v5, v7 } from 'uuid'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { requireNoBody } from '../../platform/http/no-body.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { accepted, ifMatch, latest, requireMatch, written } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { parseEgressAllow } from '../../platform/outbound-addresses.ts'
import { problem } from '../../platform/problems.ts'
import { pollAfterSeconds } from '../../platform/records/ai-review.ts'
import { aiReviewSlotFold } from '../../streams/ai-review-slot/state.ts'
import { aiReviewSlotStream } from '../../streams/ai-review-slot/stream.ts'
import { aiReviewFold } from '../../streams/ai-review/state.ts'
import { aiReviewStream } from '../../streams/ai-review/stream.ts'
import type { CommandContext } from '../../streams/store/events.ts'
import { isRefusal, refuse } from '../handling/decision.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute } from '../handling/execute.ts'
import { holdForEnd } from '../handling/hold-for-end.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { CancelAiReviewReply, SupersedeAiReviewBody, SupersedeAiReviewReply } from './bodies.ts'
import { cancelReview, isSameRequest } from './cancel-review.ts'
import { imageErrors, toReviewImages } from './image-addresses.ts'
import { openClaimedReview, type OpeningContexts } from './open-claimed-review.ts'
import { successorOf } from './slot-holder.ts'
import { keyedClaimOf, supersedeSlot } from './supersede-slot.ts'

const params = Type.Object({ id: Uuid })
const projectors = ['ai_reviews']
const ended: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'superseded'])

export function aiReviewWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store, vault, configuration, now } = deps
  const outbound = { profile: configuration.profile, allow: parseEgressAllow(configuration.egressAllow) }
  const objectStores = [configuration.s3Endpoint, configuration.s3PublicEndpoint]

  app.post(
    '/ai-reviews/:id/cancel',
    {
      schema: {
        operationId: 'cancelAiReview',
        summary: 'Cancel an AI review that has no end yet',
        description: 'The provider is not told. A cancelled review keeps its slot until it is superseded.',
        params,
        querystring: OrgQuery,
        response: answers({ 200: CancelAiReviewReply }, ['ai-review-not-cancellable', ...keyProblems]),
      },
      config: { access: { scopes: ['ai-review:cancel'] }, takesIfMatch: true },
    },
    async (request, reply) => {
      requireNoBody(request.body)
      const orgId = tenantOf(request.caller, namedOrg(request.query))
      const aiReviewId = request.params.id.toLowerCase()
      const target = { fold: aiReviewFold, stream: aiReviewStream(orgId, aiReviewId) }
      const command = { request: keyedRequest(request, orgId, vault, null).causing, now: now() }
      const context = commandContext(request, { orgId })
      const { state: known } = await store.load(target.fold, target.stream, { fresh: true })
      const successor = known.status === 'absent' ? null : await successorOf(store, known)
      // Somebody superseded it and got no further: it must not end in another way in between.
      if (successor !== null) await openClaimedReview(deps, successor, openingOf(context))
      const admitted = ifMatch(request)
      const done = await execute(
        store,
        target,
        (state, revision) => {
          const decision = cancelReview(command, state)
          const isChange = !isRefusal(decision) && decision.length > 0
          const isAdmitted = admitted === undefined || (typeof revision === 'bigint' && admitted.includes(revision))
          return isChange && !isAdmitted ? refuse('precondition-failed') : decision
        },
        context,
      )
      return written(reply, {
        body: { aiReviewId, status: 'cancelled' as const },
        projectors,
        position: done.position,
        revision: done.revision,
        isReplayed: done.events.length === 0 && isSameRequest(command, done.state),
      })
    },
  )

  app.post(
    '/ai-reviews/:id/supersede',
    {
      schema: {
        operationId: 'supersedeAiReview',
        summary: 'Replace an AI review by a new one with fresh image addresses',
        description: 'Any review that holds the slot of its case and product can be superseded, an ended one too.',
        params,
        querystring: OrgQuery,
        body: SupersedeAiReviewBody,
        response: answers({ 202: SupersedeAiReviewReply }, ['ai-review-already-superseded', ...keyProblems]),
      },
      config: { access: { scopes: ['ai-review:supersede'] }, takesIfMatch: true, takesWait: true },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      const supersededAiReviewId = request.params.id.toLowerCase()
      const load = () => store.load(aiReviewFold, aiReviewStream(orgId, supersededAiReviewId), { fresh: true })
      const { state: old } = await load()
      if (old.status === 'absent') throw problem('not-found')
      const { caseId, productId, patientId, correlationId } = old
      const command = {
        aiReviewId: v7(),
        caseId,
        productId,
        orgId,
        patientId,
        correlationId,
        images: toReviewImages(body.images),
        supersedes: { aiReviewId: supersededAiReviewId, reason: body.reason ?? null },
        request: keyedRequest(request, orgId, vault, body).causing,
        now: now(),
      }
      const slot = { fold: aiReviewSlotFold, stream: aiReviewSlotStream(orgId, caseId, productId) }
      // A repeat is answered as the first was, whatever has expired since.
      const isKnown = command.request !== null && keyedClaimOf(command, (await store.load(slot.fold, slot.stream, { fresh: true })).state) !== undefined
      const errors = isKnown ? [] : imageErrors(body.images, { outbound, objectStores, now: command.now })
      if (errors.length > 0) throw problem('validation-failed', { errors })

      const context = commandContext(request, { orgId })
      const done = await execute(store, slot, (state) => supersedeSlot(command, state), context, async () => {
        const { revision } = await load()
        if (typeof revision === 'bigint') requireMatch(request, revision)
      })
      if (done.state.status === 'free') throw problem('internal-error')
      const { claim } = done.state
      const aiReviewId = keyedClaimOf(command, done.state)?.aiReviewId ?? claim.aiReviewId
      // One that was superseded in turn was opened before.
      const opened = aiReviewId === claim.aiReviewId ? await openClaimedReview(deps, claim, openingOf(context)) : undefined
      const successor = { fold: aiReviewFold, stream: aiReviewStream(orgId, aiReviewId) }
      // Who does not wait is told how it begins, at each repeat.
      const held = await holdForEnd(store, reply, successor, aiReviewFold.initialState, ({ status }) => ended.has(status))
      const status = held.state.status === 'absent' ? 'pending' : held.state.status
      return accepted(reply, {
        body: { aiReviewId, status, supersededAiReviewId },
        location: `/ai-reviews/${aiReviewId}`,
        projectors,
        position: latest(done.position, opened, held.position),
        isReplayed: done.events.length === 0,
        ...(ended.has(status) ? {} : { retryAfterSeconds: pollAfterSeconds }),
      })
    },
  )
}

/** The appends that follow from a claim, beside the request's own. */
function openingOf(context: CommandContext): OpeningContexts {
  const part = (name: string) => ({ ...context, commandId: v5(name, context.commandId) })
  return { supersede: part('supersede'), open: part('open') }
}
