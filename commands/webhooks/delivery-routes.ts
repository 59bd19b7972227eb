import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { requireNoBody } from '../../platform/http/no-body.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { accepted, secondsUntil, type ReplyHead } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/http/problems.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { toWebhookDeliveryRecord, WebhookDeliveryRecord } from '../../contracts/webhooks/delivery.ts'
import { webhookDeliveries, type WebhookDeliveryState, deliveryIdOf } from '../../streams/webhook-delivery/aggregate.ts'
import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import { execute, type Executed } from '../handling/execute.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { viewOfDelivery } from './delivery-view.ts'
import type { DeliveryRouteDependencies } from './dependencies.ts'
import { ownSubscription } from './own-subscription.ts'
import { recoverRoute } from './recover-route.ts'
import { isRepeatedRedelivery, redeliver, type Redeliver } from './redeliver.ts'
import { sendTest } from './send-test.ts'

const access = { scopes: ['webhooks:write'] } as const

/** Deliveries that a client asks for: a test, one again, all of a period again. */
export function deliveryWriteRoutes(app: ServiceApp, deps: DeliveryRouteDependencies): void {
  const { store, vault, now, findDueDelivery } = deps

  app.post(
    '/webhook-subscriptions/:id/test',
    {
      schema: {
        operationId: 'testWebhookSubscription',
        summary: 'Send a test to a webhook subscription',
        description:
          'Signed as any other webhook, its type `webhook.test`, its body `{"test":true}`. Sent once, whatever comes of it.',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 202: WebhookDeliveryRecord }, ['webhook-subscription-disabled', ...keyProblems]),
      },
      config: { access, hasEtag: true },
    },
    async (request, reply) => {
      const { body, caller, params, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      requireNoBody(body)
      const subscriptionId = params.id.toLowerCase()
      const keyed = keyedRequest(request, orgId, vault, null)
      const { status } = await ownSubscription(store, orgId, subscriptionId)
      const eventId = keyed.idOf('event')
      const deliveryId = deliveryIdOf(subscriptionId, eventId)
      const named = { deliveryId, subscriptionId, organisationId: orgId, eventId }
      const command = { ...named, isActive: status === 'active', request: keyed.causing, now: now() }
      const target = { ...targetOf(orgId, deliveryId), isNew: true }
      const done = await execute(store, target, (state) => sendTest(command, state), commandContext(request, { orgId }))
      return answer(reply, done, done.events.length === 0, now())
    },
  )

  app.post(
    '/webhook-subscriptions/:id/deliveries/:deliveryId/redeliver',
    {
      schema: {
        operationId: 'redeliverWebhook',
        summary: 'Send what has ended once more',
        description:
          'Under the same webhook-id, through a whole round of the retry schedule. One that is pending stays as it is.',
        params: Type.Object({ id: Uuid, deliveryId: Uuid }),
        querystring: OrgQuery,
        response: answers({ 202: WebhookDeliveryRecord }, [
          'webhook-subscription-disabled',
          'webhook-delivery-pending',
          'read-model-behind',
          ...keyProblems,
        ]),
      },
      config: { access, hasEtag: true },
    },
    async (request, reply) => {
      const { body, caller, params, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      requireNoBody(body)
      const subscriptionId = params.id.toLowerCase()
      const { causing } = keyedRequest(request, orgId, vault, null)
      const { status, endpointRevision, disabledRevision } = await ownSubscription(store, orgId, subscriptionId)
      const deliveryId = params.deliveryId.toLowerCase()
      const target = targetOf(orgId, deliveryId)
      const due = await dueDelivery(orgId, subscriptionId, deliveryId)
      const asked = {
        isActive: status === 'active',
        endpointRevision,
        disabledRevision,
        recoveryId: null,
        request: causing,
        now: now(),
      }
      const command = { subscriptionId, due, ...asked }
      const done = await execute(
        store,
        target,
        (state) => redeliver(command, state),
        commandContext(request, { orgId }),
      )
      return answer(reply, done, done.events.length === 0 && isRepeatedRedelivery(command, done.state), now())
    },
  )

  recoverRoute(app, deps)

  /** The first event of a delivery that is listed and was never attempted; null where its stream has begun. */
  async function dueDelivery(orgId: TenantId, subscriptionId: string, deliveryId: string): Promise<Redeliver['due']> {
    const { fold, stream } = targetOf(orgId, deliveryId)
    if ((await store.load({ fold, stream })).state.status !== 'absent') return null
    const due = await findDueDelivery(orgId, subscriptionId, deliveryId)
    if (due === null) return null
    const { dueAt, ...event } = due
    return {
      ...event,
      deliveryId,
      subscriptionId,
      organisationId: orgId,
      origin: 'event',
      scheduledAt: dueAt,
      request: null,
    }
  }
}

function targetOf(orgId: TenantId, deliveryId: string) {
  return webhookDeliveries.of(orgId, deliveryId)
}

function answer(
  reply: ReplyHead,
  { state, reached, revision }: Executed<WebhookDeliveryState, WebhookDeliveryEvent>,
  isReplayed: boolean,
  now: Date,
) {
  if (state.status === 'absent') throw problem('internal-error')
  return accepted(reply, {
    body: toWebhookDeliveryRecord(viewOfDelivery(state)),
    location: `/webhook-subscriptions/${state.subscriptionId}/deliveries/${state.deliveryId}`,
    position: reached,
    projectors: ['webhook_deliveries'],
    revision,
    isReplayed,
    retryAfterSeconds: secondsUntil(state.nextAttemptAt, now),
  })
}
