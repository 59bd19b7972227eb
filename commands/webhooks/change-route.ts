import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { requireNoBody } from '../../platform/http/no-body.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { admittedRevisions, written } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/http/problems.ts'
import { toWebhookSubscriptionRecord, WebhookSubscriptionRecord } from '../../contracts/webhooks/subscription.ts'
import { webhookSubscriptions } from '../../streams/webhook-subscriptions/aggregate.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute } from '../handling/execute.ts'
import { ChangeWebhookSubscriptionBody } from './bodies.ts'
import { changeSubscription, isAdmitted } from './change-subscription.ts'
import { deleteSubscription } from './delete-subscription.ts'
import { receiverUrlCheck } from './receiver-url.ts'
import { viewOf } from './views.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/** Changing and deleting a webhook subscription. */
export function changeRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store, configuration, now } = deps
  const checkUrl = receiverUrlCheck(configuration)

  app.patch(
    '/webhook-subscriptions/:id',
    {
      schema: {
        operationId: 'changeWebhookSubscription',
        summary: 'Change a webhook subscription, or switch it off and on',
        description: 'Members that are left out stay as they are. What is pending when it is disabled is cancelled.',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        body: ChangeWebhookSubscriptionBody,
        response: answers({ 200: WebhookSubscriptionRecord }, [
          'webhook-url-forbidden',
          'webhook-subscription-duplicate',
        ]),
      },
      config: { access: { scopes: ['webhooks:write'] }, takesIfMatch: true, hasEtag: true },
    },
    async (request, reply) => {
      const { body, caller, params, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      if (body.url !== undefined) checkUrl(body.url)
      const subscriptionId = params.id.toLowerCase()
      const { url, event_types: eventTypes, description, payload_mode: payloadMode, status } = body
      const asked = { url, eventTypes, description, payloadMode, status, admitted: admittedRevisions(request) }
      const command = { subscriptionId, ...asked, now: now() }
      const done = await execute(
        store,
        targetOf(orgId),
        (state) => changeSubscription(command, state),
        commandContext(request, { orgId }),
      )
      const own = done.state.subscriptions.get(subscriptionId)
      if (own === undefined) throw problem('internal-error')
      if (done.events.length === 0 && !isAdmitted(command, own)) throw problem('precondition-failed')
      return written(reply, {
        body: toWebhookSubscriptionRecord(viewOf(own)),
        position: done.reached,
        revision: BigInt(own.revision),
        projectors: ['webhook_subscriptions'],
      })
    },
  )

  app.delete(
    '/webhook-subscriptions/:id',
    {
      schema: {
        operationId: 'deleteWebhookSubscription',
        summary: 'Delete a webhook subscription for good',
        description: 'What is pending is cancelled.',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 204: Type.Null({ description: 'Deleted' }) }),
      },
      config: { access: { scopes: ['webhooks:write'] }, takesIfMatch: true },
    },
    async (request, reply) => {
      const { body, caller, params, query } = request
      requireNoBody(body)
      const orgId = tenantOf(caller, namedOrg(query))
      const command = { subscriptionId: params.id.toLowerCase(), admitted: admittedRevisions(request), now: now() }
      const done = await execute(
        store,
        targetOf(orgId),
        (state) => deleteSubscription(command, state),
        commandContext(request, { orgId }),
      )
      await written(reply, { body: null, position: done.reached, projectors: ['webhook_subscriptions'] })
      return reply.code(204).send(null)
    },
  )
}

function targetOf(orgId: TenantId) {
  return webhookSubscriptions.of(orgId)
}
