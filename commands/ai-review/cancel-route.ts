import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { requireNoBody } from '../../platform/http/no-body.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { requireMatch, written } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute } from '../handling/execute.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { CancelAiReviewReply } from './bodies.ts'
import { cancelReview, isSameRequest } from './cancel-review.ts'
import { openClaimedReview, openingOf } from './open-claimed-review.ts'
import { successorOf } from './slot-holder.ts'

export function cancelRoute(app: ServiceApp, deps: CommandDependencies): void {
  const { store, vault, now } = deps

  app.post(
    '/ai-reviews/:id/cancel',
    {
      schema: {
        operationId: 'cancelAiReview',
        summary: 'Cancel an AI review that has no end yet',
        description: 'The provider is not told. A cancelled review keeps its slot until it is superseded.',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: CancelAiReviewReply }, ['ai-review-not-cancellable', ...keyProblems]),
      },
      config: { access: { scopes: ['ai-review:cancel'] }, takesIfMatch: true, hasEtag: true },
    },
    async (request, reply) => {
      const { body, caller, params, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      requireNoBody(body)
      const aiReviewId = params.id.toLowerCase()
      const target = aiReviews.of(orgId, aiReviewId)
      const command = { request: keyedRequest(request, orgId, vault, null).causing, now: now() }
      const context = commandContext(request, { orgId })
      const { state: known } = await store.load(target)
      const successor = known.status === 'absent' ? null : await successorOf(store, known)
      // Somebody superseded it and got no further: it must not end in another way in between.
      if (successor !== null) await openClaimedReview(deps, successor, openingOf(context))
      const done = await execute(
        store,
        target,
        (state) => cancelReview(command, state),
        context,
        (revision) => requireMatch(request, revision),
      )
      return written(reply, {
        body: { aiReviewId, status: 'cancelled' as const },
        projectors: ['ai_reviews'],
        position: done.reached,
        revision: done.revision,
        isReplayed: done.events.length === 0 && isSameRequest(command, done.state),
      })
    },
  )
}
