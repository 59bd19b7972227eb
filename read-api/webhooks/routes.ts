import { Type } from 'typebox'
import { toWebhookDeliveryRecord, WebhookDeliveryRecord } from '../../contracts/webhooks/delivery.ts'
import { toWebhookSubscriptionRecord, WebhookSubscriptionRecord } from '../../contracts/webhooks/subscription.ts'
import { Uuid } from '../../platform/http/members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { webhookDeliveriesProjector } from '../../projections/webhooks/webhook-deliveries.projector.ts'
import { webhookSubscriptionsProjector } from '../../projections/webhooks/webhook-subscriptions.projector.ts'
import { listRoute } from '../../engine/reads/list-route.ts'
import { atRevision, readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { webhookKeysRoute } from './keys-route.ts'
import {
  getDelivery,
  getSubscription,
  listDeliveries,
  listSubscriptions,
  placeOfDelivery,
  placeOfSubscription,
  viewOfSubscription,
} from './queries.ts'

const access = { scopes: ['webhooks:read'] } as const
const ofSubscriptions = { access, servedBy: [webhookSubscriptionsProjector] }
const ofDeliveries = { access, servedBy: [webhookSubscriptionsProjector, webhookDeliveriesProjector] }

export function webhookReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool } = deps
  webhookKeysRoute(app, deps)

  listRoute(app, deps, {
    ...ofSubscriptions,
    path: '/webhook-subscriptions',
    operationId: 'listWebhookSubscriptions',
    summary: 'Webhook subscriptions of the organisation, oldest first',
    list: 'webhook-subscriptions',
    sort: 'created_at',
    pageName: 'WebhookSubscriptionPage',
    item: WebhookSubscriptionRecord,
    rows: ({ tenant }, page) => listSubscriptions(pool, tenant, page),
    placeOf: (row) => placeOfSubscription(row),
    toItem: (row) => toWebhookSubscriptionRecord(viewOfSubscription(row)),
  })

  readRoute(app, {
    ...ofSubscriptions,
    path: '/webhook-subscriptions/:id',
    operationId: 'getWebhookSubscription',
    summary: 'A webhook subscription',
    params: { id: Uuid },
    reply: WebhookSubscriptionRecord,
    find: async ({ tenant, params }) =>
      atRevision(await getSubscription(pool, tenant, params.id), (row) =>
        toWebhookSubscriptionRecord(viewOfSubscription(row)),
      ),
  })
}

/** The deliveries to a subscription. A delivery is listed from its event on. */
export function deliveryReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool, configuration } = deps
  const [firstDelayMs = 0] = configuration.webhookRetryScheduleMs
  const { status, event_type: eventType } = WebhookDeliveryRecord.properties

  listRoute(app, deps, {
    ...ofDeliveries,
    path: '/webhook-subscriptions/:id/deliveries',
    operationId: 'listWebhookDeliveries',
    summary: 'Deliveries to a webhook subscription, newest first',
    description:
      'By the instant of the event. A delivery is listed as `pending` from its event on, also while its endpoint pauses.',
    params: { id: Uuid },
    query: { status: Type.Optional(status), event_type: Type.Optional(eventType) },
    list: 'webhook-deliveries',
    sort: '-created_at',
    idOf: 'subscriptionId',
    pageName: 'WebhookDeliveryPage',
    item: WebhookDeliveryRecord,
    rows: async ({ tenant, params, filters }, page) => {
      await getSubscription(pool, tenant, params.id)
      return listDeliveries(pool, tenant, params.id, filters, { ...page, firstDelayMs })
    },
    placeOf: placeOfDelivery,
    toItem: toWebhookDeliveryRecord,
  })

  readRoute(app, {
    ...ofDeliveries,
    path: '/webhook-subscriptions/:id/deliveries/:deliveryId',
    operationId: 'getWebhookDelivery',
    summary: 'A delivery to a webhook subscription',
    params: { id: Uuid, deliveryId: Uuid },
    reply: WebhookDeliveryRecord,
    find: async ({ tenant, params }) => {
      await getSubscription(pool, tenant, params.id)
      const delivery = await getDelivery(pool, tenant, params.id, params.deliveryId, firstDelayMs)
      return { body: toWebhookDeliveryRecord(delivery), revision: delivery.revision }
    },
  })
}
