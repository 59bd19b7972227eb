import { Type } from 'typebox'
import { answers } from '../../platform/http/answers.ts'
import type { Pool } from '../../platform/database/database.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import {
  webhookKeysTable,
  webhookSubscriptionsProjector,
} from '../../projections/webhooks/webhook-subscriptions.projector.ts'
import type { ReadDependencies } from '../../engine/reads/read-route.ts'
import { rowsOf, tableOf, viewsOf } from '../../engine/reads/tenant-rows.ts'

const WebhookKeySet = Type.Object(
  {
    keys: Type.Array(
      Type.Object({
        kty: Type.Literal('OKP'),
        crv: Type.Literal('Ed25519'),
        x: Type.String(),
        kid: Type.String(),
        alg: Type.Literal('EdDSA'),
        use: Type.Literal('sig'),
      }),
    ),
  },
  { $id: 'WebhookKeySet' },
)

/** Most keys in one answer. `kid` finds any key. */
const mostKeys = 1000

/** A key stays in the answer for this long after its end. Receivers accept timestamps of five minutes, and clocks differ. */
const shownAfterEnd = '10 minutes'

const k = tableOf(webhookSubscriptionsProjector, webhookKeysTable, 'k')

/** Public keys of all organisations that sign now or did so a moment ago, newest first. With an id: that key. */
export async function publishedKeys(
  pool: Pool,
  { kid, now }: { readonly kid?: string | undefined; readonly now: Date },
) {
  const keys = rowsOf(k, { kid: k.kid, x: k.x })
  keys.whereRaw(`(?? is null or ?? > ?::timestamptz - interval '${shownAfterEnd}')`, [k.retiredAt, k.retiredAt, now])
  if (kid !== undefined) keys.where(k.kid, kid)
  return viewsOf(pool, keys.orderByRaw('?? desc, ??', [k.createdAt, k.kid]).limit(mostKeys))
}

/**
 * Specification 5. Public keys are public for all tenants. The answer does not name their subscriptions. The route has
 * no tenant, so `readRoute` does not fit.
 */
export function webhookKeysRoute(app: ServiceApp, { pool, now }: Pick<ReadDependencies, 'pool' | 'now'>): void {
  app.get(
    '/.well-known/webhook-keys',
    {
      schema: {
        operationId: 'getWebhookKeys',
        summary: 'Keys that verify deliveries signed by v1a',
        description: 'The `kid` is the `public_key_id` of a subscription. Without it: the newest thousand keys.',
        querystring: Type.Object(
          { kid: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })) },
          { additionalProperties: false },
        ),
        response: answers({ 200: WebhookKeySet }, ['database-unavailable']),
      },
      config: { access: 'public', servedBy: [webhookSubscriptionsProjector.name] },
    },
    async ({ query }, reply) => {
      const rows = await publishedKeys(pool, { kid: query.kid, now: now() })
      reply.header('cache-control', 'public, max-age=300')
      const form = { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' } as const
      return { keys: rows.map(({ kid, x }) => ({ ...form, kid, x })) }
    },
  )
}
