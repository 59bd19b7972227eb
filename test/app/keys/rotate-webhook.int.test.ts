import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { runKeys } from '../../../app/keys/run.ts'
import { createWebhookSignatures } from '../../../processes/adapters/webhook-signatures.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { newContext } from '../../engine/store/fixtures.ts'
import { subscriptionFact } from '../../streams/webhook-facts.ts'
import { givenInstallation } from '../../support/installation.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

const installation = givenInstallation()

/** A webhook of an organisation of its own, with a secret and a key pair. */
async function subscribed() {
  const [orgId, endpoint] = [tenantOfFact(randomUUID()), randomUUID()]
  const { vault, store } = await installation.startProcess()
  for (const kind of ['webhook', 'webhook-signing'] as const) await vault.secret(kind, endpoint)
  const ids = { organisationId: orgId, subscriptionId: endpoint, secretId: endpoint }
  const context = { ...newContext(), orgId }
  await store.append(webhookSubscriptions.of(orgId), 'no_stream', [subscriptionFact('WebhookSubscribed', ids)], context)
  return { orgId, endpoint }
}

async function rotate(orgId: string, endpoint: string, graceSeconds?: number): Promise<unknown> {
  const { database, node, masterKeyText } = installation
  const env = {
    DATABASE_URL: database.url,
    VAULT_DATABASE_URL: database.vaultUrl,
    MASTER_KEYS: masterKeyText,
    ESDB_URL: node.url,
  }
  let out = ''
  const output = { out: (text: string) => void (out += text), err: () => undefined, isInteractive: false }
  await runKeys({ action: 'rotate-webhook', orgId, endpoint, graceSeconds }, env, output)
  return JSON.parse(out)
}

/** The signatures of a delivery that a process makes now. */
async function signed(orgId: string, endpoint: string): Promise<Record<string, string>> {
  const { vault, store } = await installation.startProcess()
  const { state } = await store.load(webhookSubscriptions.of(tenantOfFact(orgId)))
  const subscription = state.subscriptions.get(endpoint)
  if (subscription === undefined) throw new Error('no subscription')
  const sentAt = new Date()
  const sign = await createWebhookSignatures(vault).signerOf(subscription, sentAt)
  return {
    'webhook-id': endpoint,
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
    'webhook-signature': sign({ id: endpoint, sentAt, body: '{}' }),
  }
}

test('a rotation prints the secret and the public key with which deliveries are signed from then on', async () => {
  const { orgId, endpoint } = await subscribed()
  const before = Date.now()
  const rotated = await rotate(orgId, endpoint)
  expect(rotated).toEqual({
    purpose: 'webhook',
    endpoint,
    secret: expect.stringMatching(/^whsec_/),
    public_key: expect.stringMatching(/^whpk_/),
    previous_valid_until: expect.any(String),
  })
  expect(Date.parse(textAt(rotated, 'previous_valid_until'))).toBeGreaterThanOrEqual(before + 86_400_000)
  const headers = await signed(orgId, endpoint)
  expect(new Webhook(textAt(rotated, 'secret')).verify('{}', headers)).toEqual({})
  // The old and the new secret, each with both schemes.
  expect(headers['webhook-signature']?.split(' ')).toHaveLength(4)

  const again = await rotate(orgId, endpoint, 0)
  expect(at(again, 'secret')).not.toBe(at(rotated, 'secret'))
  const { store } = await installation.startProcess()
  const { state } = await store.load(webhookSubscriptions.of(orgId))
  expect(state.subscriptions.get(endpoint)?.secrets).toHaveLength(2)
})

test('a rotation makes the deliveries of a webhook possible whose secret is gone', async () => {
  const { orgId, endpoint } = await subscribed()
  const client = new Client({ connectionString: installation.database.vaultUrl })
  await client.connect()
  await client.query('delete from vault_secrets where id = $1', [endpoint])
  await client.end()
  await expect(signed(orgId, endpoint)).rejects.toThrow('holds no webhook key')
  const rotated = await rotate(orgId, endpoint, 0)
  expect(new Webhook(textAt(rotated, 'secret')).verify('{}', await signed(orgId, endpoint))).toEqual({})
})

test('a webhook that the organisation does not have is named, and so are too many secrets that sign', async () => {
  const { orgId, endpoint } = await subscribed()
  const [other, unknown] = [randomUUID(), randomUUID()]
  await expect(rotate(orgId, unknown)).rejects.toThrow(`organisation ${orgId} has no webhook ${unknown}`)
  await expect(rotate(other, endpoint)).rejects.toThrow(`organisation ${other} has no webhook ${endpoint}`)
  for (let count = 0; count < 4; count += 1) await rotate(orgId, endpoint)
  await expect(rotate(orgId, endpoint)).rejects.toThrow(`four earlier secrets of webhook ${endpoint} still sign`)
  expect(await rotate(orgId, endpoint, 0)).toMatchObject({ endpoint })
})
