import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { listQuery, page, pageMembers, pageRequest } from '../../platform/http/cursors.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery, orgQuery } from '../../platform/http/parameters.ts'
import { found } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { toWebhookSubscriptionRecord, WebhookSubscriptionRecord } from '../../contracts/webhooks/subscription.ts'
import type { ReadDependencies } from '../read-route.ts'
import { webhookKeysRoute } from './keys-route.ts'
import { getSubscription, listSubscriptions, viewOfSubscription } from './queries.ts'

export const WebhookSubscriptionPage = Type.Object(
  { data: Type.Array(WebhookSubscriptionRecord), ...pageMembers() },
  { $id: 'WebhookSubscriptionPage' },
)

const access = { scopes: ['webhooks:read'] } as const
const servedBy = ['webhook_subscriptions']

export function webhookReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { pool, cursors } = deps
  webhookKeysRoute(app, deps)

  app.get(
    '/webhook-subscriptions',
    {
      schema: {
        operationId: 'listWebhookSubscriptions',
        summary: 'Webhook subscriptions of the organisation, oldest first',
        querystring: Type.Object({ ...orgQuery, ...listQuery }, { additionalProperties: false }),
        response: answers({ 200: WebhookSubscriptionPage }, ['invalid-cursor', 'expired-cursor']),
      },
      config: { access, servedBy },
    },
    async (request, reply) => {
      const org = tenantOf(request.caller, namedOrg(request.query))
      const list = { list: 'webhook-subscriptions', orgId: org, sort: 'created_at', filters: {} }
      const asked = pageRequest(cursors, list, request.query)
      return page(reply, {
        cursors,
        list,
        request: asked,
        rows: await listSubscriptions(pool, org, asked.after, asked.fetch),
        placeOf: (row) => [row.created_at.toISOString(), row.subscription_id],
        toItem: (row) => toWebhookSubscriptionRecord(viewOfSubscription(row)),
      })
    },
  )

  app.get(
    '/webhook-subscriptions/:id',
    {
      schema: {
        operationId: 'getWebhookSubscription',
        summary: 'A webhook subscription',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: WebhookSubscriptionRecord }),
      },
      config: { access, servedBy, hasEtag: true },
    },
    async ({ caller, params, query }, reply) => {
      const row = await getSubscription(pool, tenantOf(caller, namedOrg(query)), params.id)
      return found(reply, {
        body: toWebhookSubscriptionRecord(viewOfSubscription(row)),
        revision: BigInt(row.stream_revision),
      })
    },
  )
}
