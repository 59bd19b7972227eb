import { randomUUID } from 'node:crypto'
import type { InjectOptions } from 'fastify'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { webhookWriteRoutes } from '../../../commands/webhooks/routes.ts'
import type { Service } from '../../../platform/http/service.ts'
import type { WebhookSubscriptionRecord } from '../../../platform/records/webhook-subscription.ts'
import { signingKeyOf } from '../../../platform/vault/signing-keys.ts'
import { MissingKeyError } from '../../../streams/store/errors.ts'
import { webhookSubscriptionsFold } from '../../../streams/webhook-subscriptions/state.ts'
import { webhookSubscriptionsStream } from '../../../streams/webhook-subscriptions/stream.ts'
import { startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { openDecisionWorld, type DecisionWorld } from '../handling/decision-world.ts'

const base = '/v1/clinical-api/webhook-subscriptions'
const url = 'https://receiver.example/hooks'
const both = ['assessment.completed', 'assessment.failed']

let world: DecisionWorld
let t: TestApplication
/** A fresh one for each test. */
let orgId: string

beforeAll(async () => {
  world = await openDecisionWorld()
  const service: Service = { prefix: 'clinical-api', documentedAt: 'prefixed', routes: (app) => webhookWriteRoutes(app, world) }
  t = await startApplication({ services: [service], checkReplies: true })
})
beforeEach(() => {
  orgId = randomUUID()
})
afterAll(async () => {
  await t.app.close()
  await world.close()
})

interface Answer {
  readonly status: number
  readonly record: WebhookSubscriptionRecord
  readonly code: unknown
  readonly etag: string
  readonly isReplayed: boolean
}

async function call(method: 'POST' | 'PATCH' | 'DELETE', path: string, payload?: object, headers: Record<string, string> = {}): Promise<Answer> {
  const authorization = await t.token({ orgId, scopes: ['webhooks:write'] })
  const options: InjectOptions = { method, url: `${base}${path}`, headers: { ...authorization, ...headers }, ...(payload === undefined ? {} : { payload }) }
  const answer = await t.app.inject(options)
  const record = answer.body === '' ? {} : answer.json<WebhookSubscriptionRecord & { code?: unknown }>()
  return {
    status: answer.statusCode,
    record: record as WebhookSubscriptionRecord,
    code: 'code' in record ? record.code : undefined,
    etag: String(answer.headers['etag']),
    isReplayed: answer.headers['idempotency-replayed'] === 'true',
  }
}

const keyed = (key: string) => ({ 'idempotency-key': key })
const subscribe = (changes: object = {}, headers: Record<string, string> = {}) => call('POST', '', { url, event_types: both, ...changes }, headers)
const rotate = (id: string, payload?: object, headers: Record<string, string> = {}) => call('POST', `/${id}/rotate-secret`, payload, headers)

async function subscriptionOf(id: string) {
  const { state } = await world.otherStore.load(webhookSubscriptionsFold, webhookSubscriptionsStream(orgId), { fresh: true })
  const found = state.subscriptions.get(id)
  if (found === undefined) throw new Error('not in the stream')
  return found
}

async function storedText(secretId: string): Promise<string> {
  return `whsec_${Buffer.from(await world.vault.storedSecret('webhook', secretId)).toString('base64')}`
}

describe('a subscription that is made', () => {
  it('signs with both schemes, by a secret and a key pair that the vault has', async () => {
    const { status, record, etag } = await subscribe()
    expect([status, etag, record.signature_schemes, record.status, record.disabled_reason]).toEqual([201, '"0"', ['v1', 'v1a'], 'active', null])
    const { secrets: [{ secretId, publicKey }] } = await subscriptionOf(record.id)
    expect(record.secret).toBe(await storedText(secretId))
    const { kid, publicJwk } = await signingKeyOf(await world.vault.storedSecret('webhook-signing', secretId))
    expect([record.public_key_id, publicKey]).toEqual([kid, { kid, x: publicJwk.x }])
    const bytes = Buffer.from((record.public_key ?? '').replace('whpk_', ''), 'base64')
    expect([record.public_key?.startsWith('whpk_'), bytes.length, bytes.toString('base64url')]).toEqual([true, 32, publicJwk.x])
  })

  it('has no key pair without v1a, and no secret without v1', async () => {
    const symmetric = await subscribe({ signature_schemes: ['v1'] })
    expect(symmetric.record).toMatchObject({ signature_schemes: ['v1'], secret: expect.stringMatching(/^whsec_/), public_key_id: null, public_key: null })
    const asymmetric = await subscribe({ url: `${url}/other`, signature_schemes: ['v1a'] })
    expect(asymmetric.record).toMatchObject({ signature_schemes: ['v1a'], public_key_id: expect.any(String) })
    expect(asymmetric.record).not.toHaveProperty('secret')
    await expect(world.vault.storedSecret('webhook', asymmetric.record.id)).rejects.toThrow(MissingKeyError)
    for (const schemes of [[], ['v2'], ['v1', 'v1']]) expect((await subscribe({ signature_schemes: schemes })).code).toBe('validation-failed')
  })

  it('again at the same address is answered with what there is, without its secret', async () => {
    const { record } = await subscribe({}, keyed('first'))
    const again = await subscribe({ description: 'another' }, keyed('second'))
    expect([again.status, again.etag, again.isReplayed]).toEqual([200, '"0"', false])
    expect(again.record).toEqual({ ...record, secret: undefined })
  })

  it('with the same key is answered with its secret, until that was replaced', async () => {
    const first = await subscribe({}, keyed('key'))
    const again = await subscribe({}, keyed('key'))
    expect([again.status, again.isReplayed, again.record]).toEqual([201, true, first.record])
    await rotate(first.record.id)
    const later = await subscribe({}, keyed('key'))
    expect([later.status, later.isReplayed]).toEqual([201, true])
    expect(later.record).not.toHaveProperty('secret')
  })

  it('and deleted is not made again by its key', async () => {
    const { record } = await subscribe({}, keyed('key'))
    expect((await call('DELETE', `/${record.id}`)).status).toBe(204)
    expect([(await subscribe({}, keyed('key'))).code, (await subscribe({ payload_mode: 'thin' }, keyed('key'))).code]).toEqual(['idempotency-key-reused', 'idempotency-key-reused'])
    expect((await subscribe({}, keyed('fresh'))).status).toBe(201)
  })
})

describe('changing one', () => {
  it('answers with the record and its new version, and says of another organisation that there is none', async () => {
    const { record: { secret: _, ...record } } = await subscribe()
    world.pass(1)
    const moved = await call('PATCH', `/${record.id.toUpperCase()}`, { url: `${url}/moved`, event_types: ['assessment.failed'], status: 'disabled' }, { 'if-match': '"0"' })
    const now = world.now().toISOString()
    const switchedOff = { status: 'disabled', disabled_reason: 'requested', disabled_at: now, updated_at: now }
    expect([moved.status, moved.etag]).toEqual([200, '"2"'])
    expect(moved.record).toEqual({ ...record, url: `${url}/moved`, event_types: ['assessment.failed'], ...switchedOff })
    const back = await call('PATCH', `/${record.id}`, { status: 'active', description: 'back' })
    expect(back.record).toMatchObject({ status: 'active', disabled_reason: null, disabled_at: null, description: 'back' })
    orgId = randomUUID()
    expect((await call('PATCH', `/${record.id}`, { status: 'disabled' })).code).toBe('not-found')
  })

  it('refuses what POST refuses, and a body that says nothing', async () => {
    const { record } = await subscribe()
    expect((await call('PATCH', `/${record.id}`, { url: 'http://169.254.169.254/' })).code).toBe('webhook-url-forbidden')
    for (const body of [{}, { event_types: [] }, { status: 'gone' }, { signature_schemes: ['v1'] }, { url: 7 }]) {
      expect((await call('PATCH', `/${record.id}`, body)).code).toBe('validation-failed')
    }
    const other = await subscribe({ url: `${url}/other` })
    expect((await call('PATCH', `/${other.record.id}`, { url })).code).toBe('webhook-subscription-duplicate')
  })

  it('If-Match is about this subscription: another one that changes in between does not matter', async () => {
    const one = await subscribe()
    const two = await subscribe({ url: `${url}/two` })
    expect((await call('PATCH', `/${two.record.id}`, { description: 'new' }, { 'if-match': two.etag })).status).toBe(200)
    const changed = await call('PATCH', `/${one.record.id}`, { description: 'new' }, { 'if-match': one.etag })
    expect([changed.status, changed.etag]).toEqual([200, '"3"'])
    expect((await call('PATCH', `/${one.record.id}`, { description: 'newer' }, { 'if-match': one.etag })).code).toBe('precondition-failed')
    expect((await call('DELETE', `/${one.record.id}`, undefined, { 'if-match': one.etag })).code).toBe('precondition-failed')
    expect((await call('DELETE', `/${one.record.id}`, undefined, { 'if-match': changed.etag })).status).toBe(204)
  })

  it('of two changes on the same version at once one is made', async () => {
    const { record, etag } = await subscribe()
    const answers = await Promise.all(['a', 'b', 'c'].map((description) => call('PATCH', `/${record.id}`, { description }, { 'if-match': etag })))
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412, 412])
  })
})

describe('deleting one', () => {
  it('is for good, for the owner only, and takes no body', async () => {
    const { record } = await subscribe()
    const owner = orgId
    orgId = randomUUID()
    expect((await call('DELETE', `/${record.id}`)).code).toBe('not-found')
    orgId = owner
    expect((await call('DELETE', `/${record.id}`, { reason: 'none' })).code).toBe('validation-failed')
    expect((await call('DELETE', `/${record.id}`)).status).toBe(204)
    for (const method of ['DELETE', 'PATCH'] as const) {
      expect((await call(method, `/${record.id}`, method === 'PATCH' ? { status: 'active' } : undefined)).code).toBe('not-found')
    }
    expect((await rotate(record.id)).code).toBe('not-found')
  })

  it('makes room for another', async () => {
    const made = []
    for (let number = 0; number < 20; number += 1) made.push(await subscribe({ url: `${url}/${number}` }))
    expect((await subscribe()).code).toBe('subscription-limit')
    await call('DELETE', `/${made[3]?.record.id}`)
    expect((await subscribe()).status).toBe(201)
    expect((await subscribe({ url: `${url}/20` })).code).toBe('subscription-limit')
  })
})

describe('rotating a secret', () => {
  it('answers with a new secret and a new key, and keeps the ones before for a day', async () => {
    const { record: before } = await subscribe()
    const { status, record, etag } = await rotate(before.id)
    expect([status, etag]).toEqual([200, '"1"'])
    expect(record.secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/)
    for (const member of ['secret', 'public_key_id', 'public_key'] as const) expect(record[member]).not.toBe(before[member])
    const { secrets } = await subscriptionOf(before.id)
    const aDay = new Date(world.now().getTime() + 86_400_000).toISOString()
    expect(secrets.map(({ validUntil }) => validUntil)).toEqual([null, aDay])
    expect(await Promise.all(secrets.map(({ secretId }) => storedText(secretId)))).toEqual([record.secret, before.secret])
  })

  it('with a key happens once, through a body or none', async () => {
    const { record: { id } } = await subscribe()
    const first = await rotate(id, undefined, keyed('key'))
    const again = await rotate(id, {}, keyed('key'))
    expect([first.isReplayed, again.isReplayed, again.etag, again.record]).toEqual([false, true, first.etag, first.record])
    expect((await rotate(id, { grace_seconds: 5 }, keyed('key'))).code).toBe('idempotency-key-reused')
    expect((await subscriptionOf(id)).secrets).toHaveLength(2)
  })

  it('repeated late is not told a secret that signs no more, but one that still does', async () => {
    const { record: { id } } = await subscribe()
    const first = await rotate(id, undefined, keyed('first'))
    const second = await rotate(id, { grace_seconds: 60 }, keyed('second'))
    const repeat = await rotate(id, undefined, keyed('first'))
    expect([repeat.record.secret, repeat.record.public_key_id]).toEqual([first.record.secret, second.record.public_key_id])
    world.pass(60)
    expect((await rotate(id, undefined, keyed('first'))).record).not.toHaveProperty('secret')
    expect((await rotate(id, { grace_seconds: 60 }, keyed('second'))).record.secret).toBe(second.record.secret)
  })

  it('leaves four earlier ones alive, and takes a grace of at most a week', async () => {
    const { record: { id } } = await subscribe()
    for (let count = 0; count < 4; count += 1) expect((await rotate(id)).status).toBe(200)
    expect((await rotate(id)).code).toBe('too-many-secrets')
    expect((await rotate(id, { grace_seconds: 0 })).status).toBe(200)
    for (const grace_seconds of [-1, 604_801, 1.5, '5']) expect((await rotate(id, { grace_seconds })).code).toBe('validation-failed')
  })

  it('of a scheme that needs no secret replaces the key pair alone', async () => {
    const { record: before } = await subscribe({ signature_schemes: ['v1a'] })
    const { record } = await rotate(before.id)
    expect(record).not.toHaveProperty('secret')
    expect(record.public_key_id).not.toBe(before.public_key_id)
  })
})
