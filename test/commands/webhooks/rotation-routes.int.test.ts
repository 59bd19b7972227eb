import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { both, keyed, openSubscriptionApi, url, type SubscriptionApi } from './subscription-api.ts'

const kept = ['fulfilled', 'fulfilled']
const destroyed = ['rejected', 'rejected']

let api: SubscriptionApi
beforeAll(async () => {
  api = await openSubscriptionApi()
})
beforeEach(() => api.as())
afterAll(() => api.close())

describe('rotating a secret', () => {
  it('answers with a new secret and a new key, and keeps the previous ones for a day', async () => {
    const { record: before } = await api.subscribe()
    const { status, record, etag } = await api.rotate(before.id)
    expect([status, etag]).toEqual([200, '"1"'])
    expect(record.secret).toMatch(/^whsec_[A-Za-z0-9+/]{32}$/)
    for (const member of ['secret', 'public_key_id', 'public_key'] as const)
      expect(record[member]).not.toBe(before[member])
    const { secrets } = await api.subscriptionOf(before.id)
    const aDay = new Date(api.world.now().getTime() + 86_400_000).toISOString()
    expect(secrets.map(({ validUntil }) => validUntil)).toEqual([null, aDay])
    expect(await Promise.all(secrets.map(({ secretId }) => api.storedText(secretId)))).toEqual([
      record.secret,
      before.secret,
    ])
  })

  it('with a key happens once, with a body or without', async () => {
    const {
      record: { id },
    } = await api.subscribe()
    const first = await api.rotate(id, undefined, keyed('key'))
    const again = await api.rotate(id, {}, keyed('key'))
    expect([first.isReplayed, again.isReplayed, again.etag, again.record]).toEqual([
      false,
      true,
      first.etag,
      first.record,
    ])
    expect((await api.rotate(id, { grace_seconds: 5 }, keyed('key'))).code).toBe('idempotency-key-reused')
    expect((await api.subscriptionOf(id)).secrets).toHaveLength(2)
  })

  it('repeated late gets no secret that no longer signs, but one that still does', async () => {
    const {
      record: { id },
    } = await api.subscribe()
    const first = await api.rotate(id, undefined, keyed('first'))
    const second = await api.rotate(id, { grace_seconds: 60 }, keyed('second'))
    const repeat = await api.rotate(id, undefined, keyed('first'))
    expect([repeat.record.secret, repeat.record.public_key_id]).toEqual([
      first.record.secret,
      second.record.public_key_id,
    ])
    api.world.pass(60)
    expect((await api.rotate(id, undefined, keyed('first'))).record).not.toHaveProperty('secret')
    expect((await api.rotate(id, { grace_seconds: 60 }, keyed('second'))).record.secret).toBe(second.record.secret)
  })

  it('keeps four earlier ones valid, and accepts a grace of at most a week', async () => {
    const {
      record: { id },
    } = await api.subscribe()
    for (let count = 0; count < 4; count += 1) expect((await api.rotate(id)).status).toBe(200)
    expect((await api.rotate(id)).code).toBe('too-many-secrets')
    expect((await api.rotate(id, { grace_seconds: 0 })).status).toBe(200)
    for (const grace_seconds of [-1, 604_801, 1.5, '5'])
      expect((await api.rotate(id, { grace_seconds })).code).toBe('validation-failed')
  })

  it('destroys the secrets and the key pairs that have ended, and no others', async () => {
    const {
      record: { id },
    } = await api.subscribe()
    const stored = ({ secretId }: { readonly secretId: string }) =>
      Promise.allSettled([
        api.world.vault.storedSecret('webhook', secretId),
        api.world.vault.storedSecret('webhook-signing', secretId),
      ]).then((both) => both.map(({ status }) => status))
    await api.rotate(id, { grace_seconds: 60 })
    const before = (await api.subscriptionOf(id)).secrets
    expect(await Promise.all(before.map(stored))).toEqual([kept, kept])
    api.world.pass(60)
    await api.rotate(id, { grace_seconds: 0 })
    expect(await Promise.all(before.map(stored))).toEqual([destroyed, destroyed])
    const { secrets } = await api.subscriptionOf(id)
    expect(await Promise.all(secrets.map(stored))).toEqual([kept])
  })

  it('refuses null in place of a missing body', async () => {
    const {
      record: { id },
    } = await api.subscribe()
    const { code } = await api.call('POST', `/${id}/rotate-secret`, Buffer.from('null'), {
      'content-type': 'application/json',
    })
    expect([code, (await api.subscriptionOf(id)).secrets]).toEqual(['validation-failed', [expect.anything()]])
  })

  it('of a scheme without a secret replaces only the key pair', async () => {
    const { record: before } = await api.subscribe({ signature_schemes: ['v1a'] })
    const { record } = await api.rotate(before.id)
    expect(record).not.toHaveProperty('secret')
    expect(record.public_key_id).not.toBe(before.public_key_id)
  })
})

describe('a crash between the vault and the stream', () => {
  it('loses nothing of a create: its repeat returns the secret that was made', async () => {
    const body = { url, event_types: both }
    expect((await api.cutOff('', body, keyed('key'))).status).toBe(500)
    const { status, record, isReplayed } = await api.call('POST', '', body, keyed('key'))
    expect([status, isReplayed, record.secret]).toEqual([201, false, await api.storedText(record.id)])
  })

  it('loses nothing of a rotation: the previous secret still signs, and the repeat rotates once', async () => {
    const {
      record: { id, secret },
    } = await api.subscribe()
    expect((await api.cutOff(`/${id}/rotate-secret`, {}, keyed('key'))).status).toBe(500)
    const {
      secrets: [current, ...earlier],
    } = await api.subscriptionOf(id)
    expect([await api.storedText(current.secretId), earlier]).toEqual([secret, []])
    const rotated = await api.rotate(id, {}, keyed('key'))
    expect((await api.rotate(id, {}, keyed('key'))).record.secret).toBe(rotated.record.secret)
    expect((await api.subscriptionOf(id)).secrets).toHaveLength(2)
  })
})
