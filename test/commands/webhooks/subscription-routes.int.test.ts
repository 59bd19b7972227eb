import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { signingKeyOf } from '../../../platform/vault/signing-keys.ts'
import { MissingKeyError } from '../../../platform/kit/key-vault.ts'
import { both, keyed, openSubscriptionApi, url, type SubscriptionApi } from './subscription-api.ts'

let api: SubscriptionApi
beforeAll(async () => {
  api = await openSubscriptionApi()
})
beforeEach(() => api.as())
afterAll(() => api.close())

describe('a new subscription', () => {
  it('signs with both schemes, with a secret and a key pair in the vault', async () => {
    const { status, record, etag } = await api.subscribe()
    expect([status, etag, record.signature_schemes, record.status, record.disabled_reason]).toEqual([
      201,
      '"0"',
      ['v1', 'v1a'],
      'active',
      null,
    ])
    const {
      secrets: [{ secretId, publicKey }],
    } = await api.subscriptionOf(record.id)
    expect(record.secret).toBe(await api.storedText(secretId))
    const { kid, publicJwk } = await signingKeyOf(await api.world.vault.storedSecret('webhook-signing', secretId))
    expect([record.public_key_id, publicKey]).toEqual([kid, { kid, x: publicJwk.x }])
    const bytes = Buffer.from((record.public_key ?? '').replace('whpk_', ''), 'base64')
    expect([record.public_key?.startsWith('whpk_'), bytes.length, bytes.toString('base64url')]).toEqual([
      true,
      32,
      publicJwk.x,
    ])
  })

  it('has no key pair without v1a, and no secret without v1', async () => {
    const symmetric = await api.subscribe({ signature_schemes: ['v1'] })
    expect(symmetric.record).toMatchObject({
      signature_schemes: ['v1'],
      secret: expect.stringMatching(/^whsec_/),
      public_key_id: null,
      public_key: null,
    })
    const asymmetric = await api.subscribe({ url: `${url}/other`, signature_schemes: ['v1a'] })
    expect(asymmetric.record).toMatchObject({ signature_schemes: ['v1a'], public_key_id: expect.any(String) })
    expect(asymmetric.record).not.toHaveProperty('secret')
    await expect(api.world.vault.storedSecret('webhook', asymmetric.record.id)).rejects.toThrow(MissingKeyError)
    for (const schemes of [[], ['v2'], ['v1', 'v1']])
      expect((await api.subscribe({ signature_schemes: schemes })).code).toBe('validation-failed')
  })

  it('may name the decisions of human reviews, which are not among the ends', async () => {
    const all = [...both, 'assessment.reviewed']
    const { status, record } = await api.subscribe({ event_types: ['assessment.reviewed', ...both] })
    expect([status, record.event_types]).toEqual([201, all])
    expect((await api.subscribe({ event_types: both })).record.event_types).toEqual(both)
    expect((await api.subscribe({ event_types: [...all, 'assessment.decided'] })).code).toBe('validation-failed')
  })

  it('for the same address gets the existing record, without its secret', async () => {
    const { record, commitPosition } = await api.subscribe({}, keyed('first'))
    const again = await api.subscribe({ description: 'another' }, keyed('second'))
    expect([again.status, again.etag, again.isReplayed]).toEqual([200, '"0"', false])
    expect(again.commitPosition).toEqual(expect.stringMatching(/^\d+/))
    expect(again.commitPosition).toBe(commitPosition)
    expect(again.record).toEqual({ ...record, secret: undefined })
  })

  it('with the same key gets its secret, until it was replaced', async () => {
    const first = await api.subscribe({}, keyed('key'))
    const again = await api.subscribe({}, keyed('key'))
    expect([again.status, again.isReplayed, again.record]).toEqual([201, true, first.record])
    await api.rotate(first.record.id)
    const later = await api.subscribe({}, keyed('key'))
    expect([later.status, later.isReplayed]).toEqual([201, true])
    expect(later.record).not.toHaveProperty('secret')
  })

  it('that was deleted is not made again with its key', async () => {
    const { record } = await api.subscribe({}, keyed('key'))
    expect((await api.call('DELETE', `/${record.id}`)).status).toBe(204)
    expect([
      (await api.subscribe({}, keyed('key'))).code,
      (await api.subscribe({ payload_mode: 'thin' }, keyed('key'))).code,
    ]).toEqual(['idempotency-key-reused', 'idempotency-key-reused'])
    expect((await api.subscribe({}, keyed('fresh'))).status).toBe(201)
  })
})

describe('changing one', () => {
  it('answers with the record and its new version, and 404 to another organisation', async () => {
    const {
      record: { secret: _, ...record },
    } = await api.subscribe()
    api.world.pass(1)
    const moved = await api.call(
      'PATCH',
      `/${record.id.toUpperCase()}`,
      { url: `${url}/moved`, event_types: ['assessment.failed'], status: 'disabled' },
      { 'if-match': '"0"' },
    )
    const now = api.world.now().toISOString()
    const switchedOff = { status: 'disabled', disabled_reason: 'requested', disabled_at: now, updated_at: now }
    expect([moved.status, moved.etag]).toEqual([200, '"2"'])
    expect(moved.record).toEqual({ ...record, url: `${url}/moved`, event_types: ['assessment.failed'], ...switchedOff })
    const back = await api.call('PATCH', `/${record.id}`, { status: 'active', description: 'back' })
    expect(back.record).toMatchObject({
      status: 'active',
      disabled_reason: null,
      disabled_at: null,
      description: 'back',
    })
    api.as()
    expect((await api.call('PATCH', `/${record.id}`, { status: 'disabled' })).code).toBe('not-found')
  })

  it('refuses the same values as POST, and accepts an empty body', async () => {
    const { record } = await api.subscribe()
    expect((await api.call('PATCH', `/${record.id}`, { url: 'http://169.254.169.254/' })).code).toBe(
      'webhook-url-forbidden',
    )
    expect(await api.call('PATCH', `/${record.id}`, {})).toMatchObject({ status: 200, etag: '"0"' })
    for (const body of [
      { event_types: [] },
      { event_types: ['assessment.failed', 'assessment.failed'] },
      { status: 'gone' },
      { signature_schemes: ['v1'] },
      { url: 7 },
    ]) {
      expect((await api.call('PATCH', `/${record.id}`, body)).code).toBe('validation-failed')
    }
    const other = await api.subscribe({ url: `${url}/other` })
    expect((await api.call('PATCH', `/${other.record.id}`, { url })).code).toBe('webhook-subscription-duplicate')
  })

  it('compares If-Match with this subscription only, not with changes of another one', async () => {
    const one = await api.subscribe()
    const two = await api.subscribe({ url: `${url}/two` })
    expect(
      (await api.call('PATCH', `/${two.record.id}`, { description: 'new' }, { 'if-match': two.etag })).status,
    ).toBe(200)
    const changed = await api.call('PATCH', `/${one.record.id}`, { description: 'new' }, { 'if-match': one.etag })
    expect([changed.status, changed.etag]).toEqual([200, '"3"'])
    expect(
      (await api.call('PATCH', `/${one.record.id}`, { description: 'newer' }, { 'if-match': one.etag })).code,
    ).toBe('precondition-failed')
    for (const body of [{ description: 'new' }, {}]) {
      for (const stale of [one.etag, 'new'])
        expect((await api.call('PATCH', `/${one.record.id}`, body, { 'if-match': stale })).code).toBe(
          'precondition-failed',
        )
      expect((await api.call('PATCH', `/${one.record.id}`, body, { 'if-match': changed.etag })).status).toBe(200)
    }
    expect((await api.call('DELETE', `/${one.record.id}`, undefined, { 'if-match': one.etag })).code).toBe(
      'precondition-failed',
    )
    expect((await api.call('DELETE', `/${one.record.id}`, undefined, { 'if-match': changed.etag })).status).toBe(204)
  })

  it('makes one of two changes of the same version at once', async () => {
    const { record, etag } = await api.subscribe()
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((description) => api.call('PATCH', `/${record.id}`, { description }, { 'if-match': etag })),
    )
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412, 412])
  })
})

describe('deleting one', () => {
  it('is permanent, for the owner only, and accepts no body', async () => {
    const { record } = await api.subscribe()
    const owner = api.orgId
    api.as()
    expect((await api.call('DELETE', `/${record.id}`)).code).toBe('not-found')
    api.as(owner)
    expect((await api.call('DELETE', `/${record.id}`, { reason: 'none' })).code).toBe('validation-failed')
    expect((await api.call('DELETE', `/${record.id}`)).status).toBe(204)
    for (const method of ['DELETE', 'PATCH'] as const) {
      expect(
        (await api.call(method, `/${record.id}`, method === 'PATCH' ? { status: 'active' } : undefined)).code,
      ).toBe('not-found')
    }
    expect((await api.rotate(record.id)).code).toBe('not-found')
  })

  it('makes room for another', async () => {
    const made = []
    for (let number = 0; number < 20; number += 1) made.push(await api.subscribe({ url: `${url}/${number}` }))
    expect((await api.subscribe()).code).toBe('subscription-limit')
    await api.call('DELETE', `/${made[3]?.record.id}`)
    expect((await api.subscribe()).status).toBe(201)
    expect((await api.subscribe({ url: `${url}/20` })).code).toBe('subscription-limit')
  })
})
