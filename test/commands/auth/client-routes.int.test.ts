import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OauthClientRecord } from '../../../contracts/auth/client.ts'
import { oauthClients } from '../../../streams/oauth-client/aggregate.ts'
import { openAdminApi, refusalOf, type AdminApi, type Answer } from './admin-api.ts'
import { raceForSecrets } from './secret-races.ts'
import { strongKeys, weakKeys } from './weak-keys.ts'
import { eventually } from '../../support/eventually.ts'

let api: AdminApi
beforeAll(async () => {
  api = await openAdminApi()
})
afterAll(() => api.close())

const recordOf = ({ body }: Answer) => body as OauthClientRecord
const described = { name: 'Clinic A', scopes: ['cases:read'] }
const ecKey = { kid: 'k1', ...strongKeys['P-384'] }

async function registered(more: object = {}): Promise<OauthClientRecord> {
  const answer = await api.call('POST', '/clients', { ...described, org_id: api.world.orgId, ...more })
  expect(answer.status).toBe(201)
  return recordOf(answer)
}

describe('POST /v1/auth/clients', () => {
  it('answers 201 with the record, the secret once, ETag and Location, and the client can be read at once', async () => {
    const product = randomUUID()
    const body = {
      ...described,
      org_id: api.world.orgId.toUpperCase(),
      product_id: product,
      scopes: ['b:x', 'cases:read'],
    }
    expect(refusalOf(await api.call('POST', '/clients', body))).toBe('400 unknown-scope /scopes')
    const made = await api.call('POST', '/clients', { ...body, scopes: ['orchestrator:read', 'cases:read'] })
    const { client_secret: secret, ...record } = recordOf(made)
    const at = api.world.now().toISOString()
    expect(record).toEqual({
      client_id: expect.any(String),
      name: 'Clinic A',
      org_id: api.world.orgId,
      product_id: product,
      scopes: ['cases:read', 'orchestrator:read'],
      trusted_actor_context: false,
      status: 'active',
      token_endpoint_auth_method: 'client_secret_basic',
      jwks: null,
      jwks_uri: null,
      secrets: [{ id: expect.any(String), created_at: at, expires_at: null, last_used_at: null }],
      created_at: at,
      updated_at: at,
    })
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(made.headers).toMatchObject({ etag: '"0"', location: `/v1/auth/clients/${record.client_id}` })
    const read = await api.call('GET', `/clients/${record.client_id}`)
    expect([read.status, read.headers['etag'], read.body]).toEqual([200, '"0"', record])
    expect(await api.tokenStatus(record.client_id, secret)).toBe(200)
    expect(await api.tokenStatus(record.client_id, secret, 'orchestrator:read')).toBe(200)
  })

  it('repeats the record for a key without the secret, and refuses another body, also after the deletion', async () => {
    const key = { 'x-admin-api-secret': 'an-administrator-secret-of-40-characters', 'idempotency-key': randomUUID() }
    const first = recordOf(await api.call('POST', '/clients', described, key))
    const again = await api.call('POST', '/clients', described, key)
    expect([again.status, again.headers['idempotency-replayed']]).toEqual([201, 'true'])
    expect(again.body).toEqual({ ...first, client_secret: undefined })
    expect(refusalOf(await api.call('POST', '/clients', { ...described, name: 'B' }, key))).toBe(
      '409 idempotency-key-reused',
    )
    await api.call('DELETE', `/clients/${first.client_id}`)
    expect(refusalOf(await api.call('POST', '/clients', described, key))).toBe('409 idempotency-key-reused')
  })

  it.each(Object.entries(weakKeys))('refuses a weak public key: %s', async (_, key) => {
    const jwks = { keys: [ecKey, { kid: 'weak', ...key }] }
    const created = await api.call('POST', '/clients', { ...described, jwks })
    expect(refusalOf(created)).toBe('400 validation-failed /jwks/keys/1')
  })

  it.each(Object.entries(strongKeys))('takes a public key: %s', async (_, key) => {
    expect(await registered({ jwks: { keys: [{ kid: 'strong', ...key }] } })).toMatchObject({ jwks: { keys: [key] } })
  })

  it('registers public keys instead of a secret, and refuses private, repeated and mixed ones', async () => {
    const record = await registered({ jwks: { keys: [{ ...ecKey, use: 'sig' }] } })
    expect(record).toMatchObject({
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [ecKey] },
      secrets: [],
    })
    expect(record).not.toHaveProperty('client_secret')
    const atAddress = await registered({ jwks_uri: 'https://keys.example/jwks' })
    expect(atAddress).toMatchObject({ jwks: null, jwks_uri: 'https://keys.example/jwks' })
    const refused = async (more: object) => refusalOf(await api.call('POST', '/clients', { ...described, ...more }))
    expect(await refused({ jwks: { keys: [{ ...ecKey, d: 'secret' }] } })).toBe('400 validation-failed /jwks/keys/0')
    expect(await refused({ jwks: { keys: [ecKey, ecKey] } })).toBe('400 validation-failed /jwks/keys/1/kid')
    expect(await refused({ jwks: { keys: [ecKey] }, jwks_uri: 'https://a.example/' })).toBe(
      '400 validation-failed /jwks_uri',
    )
    expect(await refused({ jwks_uri: 'ftp://a.example/' })).toBe('400 validation-failed /jwks_uri')
    expect(await refused({ secret: 'chosen' })).toBe('400 validation-failed /secret')
    expect(await refused({ scopes: ['cases:read', 'cases:read'] })).toBe('400 validation-failed /scopes')
  })
})

describe('PATCH /v1/auth/clients/{id}', () => {
  it('changes members, compares If-Match with the record, and makes no event for the same again', async () => {
    const { client_id: id } = await registered()
    const path = `/clients/${id}`
    const more = { scopes: ['cases:write', 'cases:read'], name: 'Renamed' }
    const changed = await api.call('PATCH', path, more)
    expect([changed.status, changed.headers['etag']]).toEqual([200, '"1"'])
    expect(changed.body).toMatchObject({ name: 'Renamed', scopes: ['cases:read', 'cases:write'] })
    expect((await api.call('PATCH', path, more)).headers['etag']).toBe('"1"')
    const admin = { 'x-admin-api-secret': 'an-administrator-secret-of-40-characters' }
    expect(refusalOf(await api.call('PATCH', path, { name: 'C' }, { ...admin, 'if-match': '"0"' }))).toBe(
      '412 precondition-failed',
    )
    expect((await api.call('PATCH', path, { name: 'C' }, { ...admin, 'if-match': '"1"' })).status).toBe(200)
    expect(refusalOf(await api.call('PATCH', path, { scopes: ['no:such'] }))).toBe('400 unknown-scope /scopes')
    expect(refusalOf(await api.call('PATCH', path, { org_id: randomUUID() }))).toBe('400 validation-failed /org_id')
    expect(refusalOf(await api.call('PATCH', path, { jwks: { keys: [ecKey] } }))).toBe(
      '409 authentication-method-fixed',
    )
    expect(refusalOf(await api.call('PATCH', `/clients/${randomUUID()}`, { name: 'C' }))).toBe('404 not-found')
  })

  it('takes no weak key in place of the present ones', async () => {
    const { client_id: id } = await registered({ jwks: { keys: [ecKey] } })
    for (const key of Object.values(weakKeys))
      expect(refusalOf(await api.call('PATCH', `/clients/${id}`, { jwks: { keys: [{ kid: 'k1', ...key }] } }))).toBe(
        '400 validation-failed /jwks/keys/0',
      )
  })

  it('disables and enables a client: no token meanwhile', async () => {
    const { client_id: id, client_secret: secret } = await registered()
    expect((await api.call('PATCH', `/clients/${id}`, { status: 'disabled' })).body).toMatchObject({
      status: 'disabled',
    })
    expect(await api.tokenStatus(id, secret)).toBe(401)
    expect((await api.call('PATCH', `/clients/${id}`, { status: 'active' })).body).toMatchObject({ status: 'active' })
    expect(await api.tokenStatus(id, secret)).toBe(200)
  })

  it('records who changed what, the bootstrap secret as `bootstrap`, and logs each of its uses', async () => {
    const { client_id: id } = await registered()
    await api.call('PATCH', `/clients/${id}`, { scopes: [] }, await api.admin(api.world.orgId))
    const actor = await api.actor(api.world.orgId, ['auth:admin'])
    const { body } = await api.call('POST', `/clients/${id}/secrets`, {}, actor)
    await api.call('DELETE', `/clients/${id}/secrets/${(body as { id: string }).id}`, undefined, actor)
    await api.call('DELETE', `/clients/${id}`, undefined, actor)
    const events: { type: string; by: unknown; actor: unknown }[] = []
    for await (const { type, metadata } of api.world.store.readStream(oauthClients.of(id).stream))
      events.push({ type, by: metadata.clientId, actor: metadata.userId })
    const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
    const none: unknown = undefined
    expect(events).toEqual([
      { type: 'OauthClientRegistered', by: 'bootstrap', actor: none },
      { type: 'OauthClientChanged', by: uuid, actor: none },
      { type: 'OauthClientNarrowed', by: uuid, actor: none },
      { type: 'OauthClientSecretAdded', by: uuid, actor: uuid },
      { type: 'OauthClientSecretRemoved', by: uuid, actor: uuid },
      { type: 'OauthClientDeleted', by: uuid, actor: uuid },
    ])
    expect(api.logged()).toContain('administrator secret used')
  })
})

describe('DELETE /v1/auth/clients/{id}', () => {
  it('answers 204, then every route answers 404 and the token endpoint 401', async () => {
    const { client_id: id, client_secret: secret, secrets } = await registered()
    expect((await api.call('DELETE', `/clients/${id}`)).status).toBe(204)
    for (const [method, path, body] of [
      ['GET', ''],
      ['PATCH', '', { name: 'B' }],
      ['DELETE', ''],
      ['POST', '/secrets'],
      ['DELETE', `/secrets/${secrets[0]?.id}`],
    ] as const)
      expect(refusalOf(await api.call(method, `/clients/${id}${path}`, body))).toBe('404 not-found')
    expect(await api.tokenStatus(id, secret)).toBe(401)
  })
})

describe('the secrets of a client', () => {
  it('are two at most: both work, the third is 409, a removed one is refused, the last one stays', async () => {
    const { client_id: id, client_secret: first, secrets } = await registered()
    const path = `/clients/${id}/secrets`
    const expiresAt = new Date(api.world.now().getTime() + 60_000).toISOString()
    const added = await api.call('POST', path, { expires_at: expiresAt })
    const { client_secret: second, ...shown } = added.body as { id: string; client_secret: string }
    expect([added.status, added.headers['location']]).toEqual([201, `/v1/auth/clients/${id}`])
    const at = api.world.now().toISOString()
    expect(shown).toEqual({ id: expect.any(String), created_at: at, expires_at: expiresAt, last_used_at: null })
    expect(refusalOf(await api.call('POST', path))).toBe('409 client-secret-limit')
    expect([await api.tokenStatus(id, first), await api.tokenStatus(id, second)]).toEqual([200, 200])

    expect((await api.call('DELETE', `${path}/${secrets[0]?.id}`)).status).toBe(204)
    expect([await api.tokenStatus(id, first), await api.tokenStatus(id, second)]).toEqual([401, 200])
    expect(refusalOf(await api.call('DELETE', `${path}/${shown.id}`))).toBe('409 last-secret')
    expect(refusalOf(await api.call('DELETE', `${path}/${secrets[0]?.id}`))).toBe('404 not-found')
    api.world.pass(60)
    expect(await api.tokenStatus(id, second)).toBe(401)
    expect(refusalOf(await api.call('POST', path, { expires_at: at }))).toBe('400 validation-failed /expires_at')
    const withKeys = await registered({ jwks: { keys: [ecKey] } })
    expect(refusalOf(await api.call('POST', `/clients/${withKeys.client_id}/secrets`))).toBe(
      '409 authentication-method-fixed',
    )
  })

  it('are added once for a key: the repeat has no secret, and none after the removal', async () => {
    const { client_id: id } = await registered()
    const path = `/clients/${id}/secrets`
    const key = { 'x-admin-api-secret': 'an-administrator-secret-of-40-characters', 'idempotency-key': randomUUID() }
    const first = (await api.call('POST', path, {}, key)).body as { id: string }
    const again = await api.call('POST', path, {}, key)
    expect([again.status, again.body]).toEqual([201, { ...first, client_secret: undefined }])
    await api.call('DELETE', `${path}/${first.id}`)
    expect(refusalOf(await api.call('POST', path, {}, key))).toBe('409 idempotency-key-reused')
  })

  it('show when they were used, written once an hour, without a new ETag', async () => {
    const { client_id: id, client_secret: secret } = await registered()
    const usedAt = async () => recordOf(await api.call('GET', `/clients/${id}`)).secrets[0]?.last_used_at
    const first = api.world.now().toISOString()
    await api.tokenStatus(id, secret)
    await eventually(async () => expect(await usedAt()).toBe(first))
    api.world.pass(3_599)
    await api.tokenStatus(id, secret)
    api.world.pass(1)
    await api.tokenStatus(id, secret)
    await eventually(async () => expect(await usedAt()).toBe(api.world.now().toISOString()))
    expect((await api.call('GET', `/clients/${id}`)).headers['etag']).toBe('"0"')
    const types: string[] = []
    for await (const { type } of api.world.store.readStream(oauthClients.of(id).stream)) types.push(type)
    expect(types).toEqual(['OauthClientRegistered', 'OauthClientSecretUsed', 'OauthClientSecretUsed'])
  })

  it('of two processes at once: one secret is added, and one remains', () => raceForSecrets(api, 10))
})
