import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OauthClientRecord } from '../../../contracts/auth/client.ts'
import { bootstrap, openAdminApi, refusalOf, type AdminApi, type Answer } from './admin-api.ts'

let api: AdminApi
beforeAll(async () => {
  api = await openAdminApi()
})
afterAll(() => api.close())

const described = { name: 'Clinic', scopes: ['cases:read'] }
const recordOf = ({ body }: Answer) => body as OauthClientRecord
const namesOf = ({ body }: Answer) => (body as { data: OauthClientRecord[] }).data.map(({ name }) => name)

type Headers = Readonly<Record<string, string>>
const register = async (more: object, headers: Headers = bootstrap) =>
  recordOf(await api.call('POST', '/clients', { ...described, ...more }, headers))

describe('an administrator of an organisation', () => {
  it('sees and changes the clients of the organisation only: foreign and platform clients are 404', async () => {
    const [orgId, foreign] = [randomUUID(), randomUUID()]
    const own = await register({ name: 'own', org_id: orgId })
    const others = [await register({ name: 'foreign', org_id: foreign }), await register({ name: 'platform' })]
    for (const headers of [
      await api.admin(orgId),
      await api.actor(orgId, ['auth:admin']),
      // The scope of the token makes a caller platform-wide, and a permission does not.
      await api.actor(orgId, ['auth:admin'], null),
    ]) {
      expect(namesOf(await api.call('GET', '/clients', undefined, headers))).toEqual(['own'])
      expect((await api.call('GET', `/clients/${own.client_id}`, undefined, headers)).status).toBe(200)
      expect((await api.call('PATCH', `/clients/${own.client_id}`, { scopes: ['cases:read'] }, headers)).status).toBe(
        200,
      )
      for (const { client_id: id, secrets } of others)
        for (const [method, path, body] of [
          ['GET', ''],
          ['PATCH', '', { name: 'B' }],
          ['DELETE', ''],
          ['POST', '/secrets'],
          ['DELETE', `/secrets/${secrets[0]?.id}`],
        ] as const)
          expect(refusalOf(await api.call(method, `/clients/${id}${path}`, body, headers))).toBe('404 not-found')
      expect(refusalOf(await api.call('GET', `/clients?org_id=${foreign}`, undefined, headers))).toBe('404 not-found')
      expect(refusalOf(await api.call('POST', '/clients', { ...described, org_id: foreign }, headers))).toBe(
        '404 not-found',
      )
      expect((await register({}, headers)).org_id).toBe(orgId)
      await api.call('DELETE', `/clients/${recordOf(await api.call('POST', '/clients', described, headers)).client_id}`)
      for (const { client_id: id } of (
        (await api.call('GET', '/clients', undefined, headers)).body as { data: OauthClientRecord[] }
      ).data.slice(1))
        await api.call('DELETE', `/clients/${id}`)
    }
  })

  it('grants neither auth:admin, ai-review:read-raw, users:contact, trust nor a client without organisation', async () => {
    const orgId = randomUUID()
    const headers = await api.admin(orgId)
    const own = await register({ org_id: orgId })
    const beyond = [
      { scopes: ['auth:admin'] },
      { scopes: ['ai-review:read-raw'] },
      { scopes: ['users:contact'] },
      { scopes: ['users:admin'] },
      { scopes: ['users:permissions'] },
      // It would include `audit:read`.
      { scopes: ['audit:write'] },
      { trusted_actor_context: true },
    ]
    for (const more of [...beyond, { org_id: null }])
      expect(refusalOf(await api.call('POST', '/clients', { ...described, ...more }, headers))).toBe(
        '403 grant-not-permitted',
      )
    for (const more of beyond)
      expect(refusalOf(await api.call('PATCH', `/clients/${own.client_id}`, more, headers))).toBe(
        '403 grant-not-permitted',
      )
  })

  it('reads a client with more than that, and may not change it', async () => {
    const orgId = randomUUID()
    const headers = await api.admin(orgId)
    for (const more of [{ scopes: ['auth:admin'] }, { trusted_actor_context: true }]) {
      const { client_id: id, secrets } = await register({ org_id: orgId, ...more })
      expect((await api.call('GET', `/clients/${id}`, undefined, headers)).status).toBe(200)
      for (const [method, path, body] of [
        ['PATCH', '', { name: 'B' }],
        ['DELETE', ''],
        ['POST', '/secrets'],
        ['DELETE', `/secrets/${secrets[0]?.id}`],
      ] as const)
        expect(refusalOf(await api.call(method, `/clients/${id}${path}`, body, headers))).toBe('403 client-read-only')
    }
  })

  it('needs the scope or the permission', async () => {
    const orgId = randomUUID()
    const none = await api.admin(orgId, ['cases:read'])
    expect(refusalOf(await api.call('GET', '/clients', undefined, none))).toBe('403 insufficient-scope')
    const actor = await api.actor(orgId, ['users:admin'])
    expect(refusalOf(await api.call('GET', '/clients', undefined, actor))).toBe('403 permission-missing')
    expect(refusalOf(await api.call('GET', '/clients', undefined, {}))).toBe('401 token-missing')
    const wrong = { 'x-admin-api-secret': 'x'.repeat(40) }
    expect((await api.call('GET', '/clients', undefined, wrong)).status).toBe(401)
  })
})

describe('a platform caller', () => {
  it('sees the clients of all organisations and of the platform, or of the organisation that it names', async () => {
    const orgId = randomUUID()
    const own = await register({ name: `of ${orgId}`, org_id: orgId })
    const platform = await register({ name: `platform ${orgId}` })
    expect(platform.org_id).toBeNull()
    for (const headers of [bootstrap, await api.admin(null)]) {
      const all = namesOf(await api.call('GET', '/clients?limit=200', undefined, headers))
      expect(all).toEqual(expect.arrayContaining([own.name, platform.name]))
      expect(namesOf(await api.call('GET', `/clients?org_id=${orgId}`, undefined, headers))).toEqual([own.name])
      const named = `?org_id=${orgId}`
      expect((await api.call('GET', `/clients/${own.client_id}${named}`, undefined, headers)).status).toBe(200)
      expect(refusalOf(await api.call('GET', `/clients/${platform.client_id}${named}`, undefined, headers))).toBe(
        '404 not-found',
      )
      const granted = { scopes: ['auth:admin', 'ai-review:read-raw'], trusted_actor_context: true }
      expect((await api.call('PATCH', `/clients/${own.client_id}`, granted, headers)).status).toBe(200)
      expect((await api.call('PATCH', `/clients/${own.client_id}`, { scopes: [] }, headers)).status).toBe(200)
    }
  })

  it('gives scopes that reach every organisation to platform clients, and to no client of an organisation', async () => {
    const orgId = randomUUID()
    const scopes = ['cases:read', 'users:admin']
    for (const headers of [bootstrap, await api.admin(null)]) {
      for (const scope of ['operations:read', 'operations:write', 'users:admin', 'users:permissions']) {
        const created = await api.call('POST', '/clients', { ...described, org_id: orgId, scopes: [scope] }, headers)
        expect(refusalOf(created)).toBe('400 validation-failed /scopes')
        const { client_id: id } = await register({ org_id: orgId }, headers)
        for (const path of [`/clients/${id}`, `/clients/${id}?org_id=${orgId}`])
          expect(refusalOf(await api.call('PATCH', path, { scopes: [scope] }, headers))).toBe(
            '400 validation-failed /scopes',
          )
      }
      const named = await api.call('POST', `/clients?org_id=${orgId}`, { ...described, scopes }, headers)
      expect(refusalOf(named)).toBe('400 validation-failed /scopes')
      const platform = await register({ scopes }, headers)
      expect(await api.tokenStatus(platform.client_id, platform.client_secret, 'users:admin')).toBe(200)
    }
  })

  it('pages through the clients, and a cursor of one organisation is none of another', async () => {
    const orgId = randomUUID()
    for (const name of ['a', 'b', 'c']) await register({ name, org_id: orgId })
    const first = await api.call('GET', `/clients?org_id=${orgId}&limit=2`)
    const { next_cursor: cursor, has_more: hasMore } = first.body as { next_cursor: string; has_more: boolean }
    expect([namesOf(first), hasMore]).toEqual([['a', 'b'], true])
    expect(namesOf(await api.call('GET', `/clients?org_id=${orgId}&limit=2&cursor=${cursor}`))).toEqual(['c'])
    expect(refusalOf(await api.call('GET', `/clients?limit=2&cursor=${cursor}`))).toBe('400 invalid-cursor')
  })
})

describe('the scopes', () => {
  const scopes = [
    { scope: 'recalls:read', description: 'Read recalls' },
    { scope: 'recalls:plan:*', description: 'Plans' },
  ]
  const body = { service_id: 'recall-service', scopes }

  it('are registered by platform callers, described anew, and grantable; a star in part, too', async () => {
    expect(refusalOf(await api.call('POST', '/clients', { ...described, scopes: ['recalls:read'] }))).toBe(
      '400 unknown-scope /scopes',
    )
    const names = ['recalls:read', 'recalls:plan:*']
    const registered = await api.call('POST', '/scopes', body)
    expect([registered.status, registered.body]).toEqual([
      200,
      { service_id: 'recall-service', created: names, updated: [], unchanged: [] },
    ])
    const changed = { ...body, scopes: [{ ...scopes[0], description: 'Read all recalls' }, scopes[1]] }
    expect((await api.call('POST', '/scopes', changed)).body).toMatchObject({
      created: [],
      updated: ['recalls:read'],
      unchanged: ['recalls:plan:*'],
    })
    expect((await api.call('POST', '/scopes', changed)).body).toMatchObject({ unchanged: names })
    const listed = await api.call('GET', '/scopes?service_id=recall-service')
    expect((listed.body as { data: object[] }).data).toEqual([
      expect.objectContaining({ scope: 'recalls:plan:*' }),
      {
        scope: 'recalls:read',
        service_id: 'recall-service',
        description: 'Read all recalls',
        updated_at: expect.any(String),
      },
    ])
    const { client_id: id, client_secret: secret } = await register({ scopes: ['recalls:plan:read', 'recalls:read'] })
    expect(await api.tokenStatus(id, secret, 'recalls:plan:read')).toBe(200)
    expect(await api.tokenStatus(id, secret, 'recalls:plan:write')).toBe(400)
  })

  it('contain the built-in ones, which nobody registers, and belong to one service', async () => {
    const listed = await api.call(
      'GET',
      '/scopes?service_id=platform&limit=200',
      undefined,
      await api.admin(randomUUID()),
    )
    expect((listed.body as { data: { scope: string }[] }).data.map(({ scope }) => scope)).toEqual(
      expect.arrayContaining(['auth:admin', 'cases:read', 'orchestrator:*', 'users:contact']),
    )
    const ask = async (more: object, headers: Headers = bootstrap) =>
      refusalOf(await api.call('POST', '/scopes', { ...body, ...more }, headers))
    const one = (scope: string) => ({ scopes: [{ scope, description: 'A scope' }] })
    expect(await ask(one('cases:read'))).toBe('400 validation-failed /scopes/0/scope')
    for (const scope of ['cases', 'Cases:read', 'a:b:c:d', '*:read', 'orchestrator:*x'])
      expect(await ask(one(scope))).toBe('400 validation-failed /scopes/0/scope')
    expect(await ask({ scopes: [scopes[0], scopes[0]] })).toBe('400 validation-failed /scopes/1/scope')
    await api.call('POST', '/scopes', body)
    expect(await ask({ service_id: 'other' })).toBe('409 scope-owned-by-other-service')
    expect(await ask({}, await api.admin(randomUUID()))).toBe('403 grant-not-permitted')
  })
})
