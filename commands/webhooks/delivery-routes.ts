import { toWebhookDeliveryRecord, WebhookDeliveryRecord } from '../../contracts/webhooks/delivery.ts'
import { problem, requireValid } from '../../platform/http/problems.ts'
import { secondsUntil } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { webhookDeliveriesProjector } from '../../projections/webhooks/webhook-deliveries.projector.ts'
import { deliveryIdOf, webhookDeliveries, type WebhookDeliveryState } from '../../streams/webhook-delivery/aggregate.ts'
import type { WebhookDeliveryEvent } from '../../streams/webhook-delivery/events.ts'
import { webhookRecoveries } from '../../streams/webhook-recovery/aggregate.ts'
import { mostRecovered } from '../../streams/webhook-recovery/events.ts'
import { accepted } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { Executed } from '../../engine/commands/execute.ts'
import { RecoverWebhooksBody, RecoverWebhooksReply } from './bodies.ts'
import type { DeliveryRouteDependencies } from './dependencies.ts'
import { recover } from './recover.ts'
import { isRepeatedRedelivery, redeliver, type Redeliver } from './redeliver.ts'
import { sendTest } from './send-test.ts'
import { ownSubscription, viewOfDelivery } from './views.ts'

const usual = { access: { scopes: ['webhooks:write'] }, readBy: [webhookDeliveriesProjector] } as const
const reply = accepted(
  WebhookDeliveryRecord,
  ({ id: deliveryId }, { id }: { readonly id: string }) => `/webhook-subscriptions/${id}/deliveries/${deliveryId}`,
)

/** Deliveries on request of a client: a test, one delivery again, or all deliveries of a period again. */
export function deliveryWriteRoutes(app: ServiceApp, deps: DeliveryRouteDependencies): void {
  const { store, now: clock, findDueDelivery, deliveriesToRecover } = deps

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/webhook-subscriptions/:id/test',
    operationId: 'testWebhookSubscription',
    summary: 'Send a test to a webhook subscription',
    description:
      'Signed like every other webhook, with the type `webhook.test` and the body `{"test":true}`. Sent once, without a retry.',
    hasEtag: true,
    reply,
    problems: ['webhook-subscription-disabled'],
    handle: async ({ tenant, params: { id: subscriptionId }, keyed, now, run }) => {
      const { status } = await ownSubscription(store, tenant, subscriptionId)
      const eventId = keyed.idOf('event')
      const deliveryId = deliveryIdOf(subscriptionId, eventId)
      const named = { deliveryId, subscriptionId, organisationId: tenant, eventId }
      const command = { ...named, isActive: status === 'active', request: keyed.causing, now }
      const target = { ...webhookDeliveries.of(tenant, deliveryId), isNew: true }
      return handled(await run(target, (state) => sendTest(command, state)))
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/webhook-subscriptions/:id/deliveries/:deliveryId/redeliver',
    operationId: 'redeliverWebhook',
    summary: 'Send a delivery that has ended again',
    description:
      'Under the same webhook-id, with a whole round of the retry schedule. A pending delivery does not change.',
    hasEtag: true,
    reply,
    problems: ['webhook-subscription-disabled', 'webhook-delivery-pending', 'read-model-behind'],
    handle: async ({ tenant, params: { id: subscriptionId, deliveryId }, keyed, now, run }) => {
      const { status, ...subscription } = await ownSubscription(store, tenant, subscriptionId)
      const { endpointRevision, disabledRevision } = subscription
      const found = { isActive: status === 'active', endpointRevision, disabledRevision, recoveryId: null }
      const due = await dueDelivery(tenant, subscriptionId, deliveryId)
      const command = { subscriptionId, due, ...found, request: keyed.causing, now }
      const done = await run(webhookDeliveries.of(tenant, deliveryId), (state) => redeliver(command, state))
      const isReplayed = done.events.length === 0 && isRepeatedRedelivery(command, done.state)
      return { ...handled(done), isReplayed }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/webhook-subscriptions/:id/recover',
    operationId: 'recoverWebhooks',
    summary: 'Send the failed and cancelled deliveries of a period again',
    description:
      'Deliveries of events from `since` on and before `until` (now, if left out), oldest first. Events that happened while the subscription was disabled have no deliveries.',
    body: RecoverWebhooksBody,
    reply: accepted(
      RecoverWebhooksReply,
      (_, { id }: { readonly id: string }) => `/webhook-subscriptions/${id}/deliveries`,
    ),
    problems: ['webhook-subscription-disabled', 'read-model-behind'],
    handle: async ({ tenant, params: { id: subscriptionId }, body, keyed, now, run }) => {
      const since = new Date(body.since).toISOString()
      const until = body.until === undefined ? now.toISOString() : new Date(body.until).toISOString()
      const isInOrder = since < until
      requireValid(isInOrder ? [] : [{ pointer: '/since', detail: 'must be before until, or now', code: 'order' }])
      const isActive = (await ownSubscription(store, tenant, subscriptionId)).status === 'active'
      const target = webhookRecoveries.of(tenant, keyed.id)
      // A repeat gets the deliveries that the first request found, without a new search.
      const isKnown = keyed.isKeyed && (await store.load(target)).state.status !== 'absent'
      const found =
        isKnown || !isActive
          ? []
          : await deliveriesToRecover(tenant, subscriptionId, { since, until }, mostRecovered + 1)
      const command = {
        recoveryId: keyed.id,
        subscriptionId,
        organisationId: tenant,
        since,
        until,
        deliveries: found.slice(0, mostRecovered),
        hasMore: found.length > mostRecovered,
        isActive,
        now,
        fingerprint: keyed.fingerprint,
      }
      const done = await run(target, (state) => recover(command, state))
      const record = { deliveries: done.state.deliveries.length, has_more: done.state.hasMore }
      return { ...done, record, retryAfterSeconds: 1 }
    },
  })

  /** The first event of a due delivery that was never attempted. Null if its stream has begun. */
  async function dueDelivery(orgId: TenantId, subscriptionId: string, deliveryId: string): Promise<Redeliver['due']> {
    if ((await store.load(webhookDeliveries.of(orgId, deliveryId))).state.status !== 'absent') return null
    const due = await findDueDelivery(orgId, subscriptionId, deliveryId)
    if (due === null) return null
    const { dueAt: scheduledAt, ...event } = due
    const named = { deliveryId, subscriptionId, organisationId: orgId }
    return { ...event, ...named, origin: 'event', scheduledAt, request: null }
  }

  function handled(done: Executed<WebhookDeliveryState, WebhookDeliveryEvent>) {
    const { state } = done
    if (state.status === 'absent') throw problem('internal-error')
    const record = toWebhookDeliveryRecord(viewOfDelivery(state))
    return { ...done, record, retryAfterSeconds: secondsUntil(state.nextAttemptAt, clock()) }
  }
}
