import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { listQuery, page, pageMembers, pageRequest } from '../../platform/http/cursors.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery, orgQuery } from '../../platform/http/parameters.ts'
import { found } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import {
  DeliveredEventType,
  DeliveryStatus,
  toWebhookDeliveryRecord,
  WebhookDeliveryRecord,
} from '../../contracts/webhooks/delivery.ts'
import type { ReadDependencies } from '../read-route.ts'
import { getDelivery, listDeliveries, placeOfDelivery } from './delivery-queries.ts'
import { getSubscription } from './queries.ts'

export const WebhookDeliveryPage = Type.Object(
  { data: Type.Array(WebhookDeliveryRecord), ...pageMembers() },
  { $id: 'WebhookDeliveryPage' },
)

const access = { scopes: ['webhooks:read'] } as const
const servedBy = ['webhook_subscriptions', 'webhook_deliveries']

/** The log of deliveries to a subscription. A delivery is in it from its event on. */
export function deliveryReadRoutes(app: ServiceApp, { pool, cursors, configuration }: ReadDependencies): void {
  const [firstDelayMs = 0] = configuration.webhookRetryScheduleMs

  app.get(
    '/webhook-subscriptions/:id/deliveries',
    {
      schema: {
        operationId: 'listWebhookDeliveries',
        summary: 'Deliveries to a webhook subscription, newest first',
        description:
          'By the instant of the event. A delivery is listed as `pending` from its event on, also while its endpoint pauses.',
        params: Type.Object({ id: Uuid }),
        querystring: Type.Object(
          {
            ...orgQuery,
            ...listQuery,
            status: Type.Optional(DeliveryStatus),
            event_type: Type.Optional(DeliveredEventType),
          },
          { additionalProperties: false },
        ),
        response: answers({ 200: WebhookDeliveryPage }, ['invalid-cursor', 'expired-cursor']),
      },
      config: { access, servedBy },
    },
    async (request, reply) => {
      const { caller, params, query } = request
      const org = tenantOf(caller, namedOrg(query))
      await getSubscription(pool, org, params.id)
      const filters = { status: query.status, eventType: query.event_type }
      const list = {
        list: 'webhook-deliveries',
        orgId: org,
        sort: '-created_at',
        filters: { ...filters, subscriptionId: params.id.toLowerCase() },
      }
      const asked = pageRequest(cursors, list, query)
      const rows = await listDeliveries(pool, org, params.id, filters, {
        after: asked.after,
        limit: asked.fetch,
        firstDelayMs,
      })
      return page(reply, {
        cursors,
        list,
        request: asked,
        rows,
        placeOf: placeOfDelivery,
        toItem: toWebhookDeliveryRecord,
      })
    },
  )

  app.get(
    '/webhook-subscriptions/:id/deliveries/:deliveryId',
    {
      schema: {
        operationId: 'getWebhookDelivery',
        summary: 'A delivery to a webhook subscription',
        params: Type.Object({ id: Uuid, deliveryId: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: WebhookDeliveryRecord }),
      },
      config: { access, servedBy, hasEtag: true },
    },
    async ({ caller, params, query }, reply) => {
      const org = tenantOf(caller, namedOrg(query))
      await getSubscription(pool, org, params.id)
      const { revision, ...view } = await getDelivery(pool, org, params.id, params.deliveryId, firstDelayMs)
      return found(reply, { body: toWebhookDeliveryRecord(view), revision })
    },
  )
}
