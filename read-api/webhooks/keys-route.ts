import { Type } from 'typebox'
import { answers } from '../../platform/http/answers.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { ReadDependencies } from '../read-route.ts'
import { publishedKeys } from './key-queries.ts'

export const WebhookKeySet = Type.Object(
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

/** Contract section 3, line 449. Public keys are no tenant's secret; which subscription they belong to is not told. */
export function webhookKeysRoute(app: ServiceApp, { pool, now }: Pick<ReadDependencies, 'pool' | 'now'>): void {
  app.get(
    '/.well-known/webhook-keys',
    {
      schema: {
        operationId: 'getWebhookKeys',
        summary: 'Keys that verify deliveries signed by v1a',
        description: 'The `kid` is the `public_key_id` of a subscription. Without one: the newest thousand.',
        querystring: Type.Object(
          { kid: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })) },
          { additionalProperties: false },
        ),
        response: answers({ 200: WebhookKeySet }, ['database-unavailable']),
      },
      config: { access: 'public', servedBy: ['webhook_subscriptions'] },
    },
    async ({ query }, reply) => {
      const rows = await publishedKeys(pool, { kid: query.kid ?? null, now: now() })
      reply.header('cache-control', 'public, max-age=300')
      const form = { kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig' } as const
      return { keys: rows.map(({ kid, x }) => ({ ...form, kid, x })) }
    },
  )
}
