import { afterAll, beforeAll, expect, it } from 'vitest'
import { webhookSubscriptionsProjector } from '../../../projections/webhooks/webhook-subscriptions.projector.ts'
import { publishedKeys, webhookKeysRoute } from '../../../read-api/webhooks/keys-route.ts'
import { startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { at, ids } from '../../streams/facts.ts'
import { publicKey, subscriptionFact as fact } from '../../streams/webhook-facts.ts'
import { openReadTables, type ReadTables } from '../read-tables.ts'

const named = (kid: string) => ({ ...publicKey, kid })

let tables: ReadTables
let t: TestApplication
let now = new Date(at(86_440))

beforeAll(async () => {
  tables = await openReadTables(
    [
      fact('WebhookSubscribed'),
      fact('WebhookSecretRotated'),
      fact('WebhookSubscribed', {
        subscriptionId: ids.event,
        organisationId: ids.otherOrg,
        publicKey: named('other-key'),
        createdAt: at(1),
      }),
      fact('WebhookSubscribed', { subscriptionId: ids.claim, publicKey: named('deleted-key') }),
      fact('WebhookSubscriptionDeleted', { subscriptionId: ids.claim }),
    ].map((event) => ({ ...event, stream: 'subscriptions' })),
    [webhookSubscriptionsProjector],
  )
  const deps = { pool: tables.pool, now: () => now }
  t = await startApplication({
    services: [{ prefix: 'clinical-api', documentedAt: 'prefixed', routes: (app) => webhookKeysRoute(app, deps) }],
    checkReplies: true,
  })
})
afterAll(async () => {
  await t.app.close()
  await tables.close()
})

const kids = async (kid?: string) => (await publishedKeys(tables.pool, { kid, now })).map((row) => row.kid)

it('are the signing keys of every organisation, newest first; a replaced key stays for ten minutes', async () => {
  now = new Date(at(86_440 + 599))
  expect(await kids()).toEqual(['second-key', 'other-key', publicKey.kid])
  now = new Date(at(86_440 + 600))
  expect(await kids()).toEqual(['second-key', 'other-key'])
})

it('are found by their id', async () => {
  now = new Date(at(60))
  expect(await kids('other-key')).toEqual(['other-key'])
  expect([await kids('deleted-key'), await kids("' or true --")]).toEqual([[], []])
})

it('are a JWK set that any cache may keep for five minutes', async () => {
  const answer = await t.app.inject({ url: `/v1/clinical-api/.well-known/webhook-keys?kid=${publicKey.kid}` })
  expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'public, max-age=300'])
  expect(answer.json()).toEqual({ keys: [{ kty: 'OKP', crv: 'Ed25519', alg: 'EdDSA', use: 'sig', ...publicKey }] })
  expect((await t.app.inject({ url: '/v1/clinical-api/.well-known/webhook-keys?kid=unknown' })).json()).toEqual({
    keys: [],
  })
  expect((await t.app.inject({ url: '/v1/clinical-api/.well-known/webhook-keys?sub=x' })).statusCode).toBe(400)
})
