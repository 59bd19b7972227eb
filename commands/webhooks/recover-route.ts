import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Instant, Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { accepted } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/http/problems.ts'
import { mostRecovered } from '../../streams/webhook-recovery/events.ts'
import { webhookRecoveries } from '../../streams/webhook-recovery/aggregate.ts'
import { execute } from '../handling/execute.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import type { DeliveryRouteDependencies } from './dependencies.ts'
import { ownSubscription } from './own-subscription.ts'
import { recover } from './recover.ts'

export const RecoverWebhooksBody = Type.Object(
  { since: Instant, until: Type.Optional(Instant) },
  { $id: 'RecoverWebhooksBody', additionalProperties: false },
)

export const RecoverWebhooksReply = Type.Object(
  {
    deliveries: Type.Integer({
      description: `How many were found, at most ${mostRecovered}; what is delivered before its turn comes is not sent again`,
    }),
    has_more: Type.Boolean(),
  },
  { $id: 'RecoverWebhooksReply' },
)

export function recoverRoute(app: ServiceApp, deps: DeliveryRouteDependencies): void {
  const { store, vault, now, deliveriesToRecover } = deps

  app.post(
    '/webhook-subscriptions/:id/recover',
    {
      schema: {
        operationId: 'recoverWebhooks',
        summary: 'Send again what failed or was cancelled in a period',
        description:
          'Deliveries of events from `since` on and before `until` (now, if left out), oldest first. Of events that happened while the subscription was disabled there are none.',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        body: RecoverWebhooksBody,
        response: answers({ 202: RecoverWebhooksReply }, [
          'webhook-subscription-disabled',
          'read-model-behind',
          ...keyProblems,
        ]),
      },
      config: { access: { scopes: ['webhooks:write'] } },
    },
    async (request, reply) => {
      const { body, caller, params, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      const subscriptionId = params.id.toLowerCase()
      const at = now()
      const since = new Date(body.since).toISOString()
      const until = body.until === undefined ? at.toISOString() : new Date(body.until).toISOString()
      if (since >= until)
        throw problem('validation-failed', {
          errors: [{ pointer: '/since', detail: 'must be before until, or now', code: 'order' }],
        })
      const keyed = keyedRequest(request, orgId, vault, body)
      const { status } = await ownSubscription(store, orgId, subscriptionId)
      const isActive = status === 'active'
      const target = webhookRecoveries.of(orgId, keyed.id)
      // A repeat is answered with what was found then: nothing is looked for.
      const isKnown = keyed.isKeyed && (await store.load(target)).state.status !== 'absent'
      const found =
        isKnown || !isActive
          ? []
          : await deliveriesToRecover(orgId, subscriptionId, { since, until }, mostRecovered + 1)
      const command = {
        recoveryId: keyed.id,
        subscriptionId,
        organisationId: orgId,
        since,
        until,
        deliveries: found.slice(0, mostRecovered),
        hasMore: found.length > mostRecovered,
        isActive,
        now: at,
        fingerprint: keyed.fingerprint,
      }
      const done = await execute(store, target, (state) => recover(command, state), commandContext(request, { orgId }))
      if (done.state.status === 'absent') throw problem('internal-error')
      return accepted(reply, {
        body: { deliveries: done.state.deliveries.length, has_more: done.state.hasMore },
        location: `/webhook-subscriptions/${subscriptionId}/deliveries`,
        position: done.reached,
        projectors: ['webhook_deliveries'],
        isReplayed: done.events.length === 0,
        retryAfterSeconds: 1,
      })
    },
  )
}
