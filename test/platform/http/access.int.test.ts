import { generateKeyPairSync } from 'node:crypto'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { tenantOf, type Caller } from '../../../platform/http/access.ts'
import type { SelectedActor } from '../../../platform/http/actor-context.ts'
import { problem } from '../../../platform/http/problems.ts'
import { noOrganisation } from '../../../platform/kit/tenants.ts'
import { createTokenIssuer, type TokenClaims } from '../../../platform/http/tokens.ts'
import {
  adminSecret,
  client,
  newTokenKeys,
  orgA,
  orgB,
  startApplication,
  thingId,
  type TestApplication,
} from './test-application.ts'

let t: TestApplication
beforeAll(async () => {
  t = await startApplication({ env: { ADMIN_API_SECRET: adminSecret } })
})
afterAll(() => t.app.close())

const actor = {
  user_id: 'user-1',
  org_id: orgA,
  permissions: ['things:admin'],
  display_name: 'Jane Doe',
  product_ids: [],
  later_claim: 1,
}
const contextOf = (claims: object) =>
  `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`
const trusted: Partial<TokenClaims> = { trustedActorContext: true }

async function ask(method: 'GET' | 'POST', url: string, headers: Record<string, string>) {
  const response = await t.app.inject({ method, url, headers })
  return {
    status: response.statusCode,
    code: response.json<{ code?: string }>().code,
    body: response.json<Record<string, unknown>>(),
    challenge: response.headers['www-authenticate'],
  }
}

describe('access tokens', () => {
  it('requires a token and answers 401 with a challenge', async () => {
    expect(await ask('GET', '/v1/whoami', {})).toMatchObject({
      status: 401,
      code: 'token-missing',
      challenge: 'Bearer realm="clinical-assessment-platform"',
    })
    expect(await ask('GET', '/v1/whoami', { authorization: 'Basic abc' })).toMatchObject({
      status: 401,
      code: 'token-invalid',
    })
    expect(await ask('GET', '/v1/whoami', { authorization: 'Bearer abc' })).toMatchObject({
      status: 401,
      code: 'token-invalid',
      challenge: expect.stringContaining('error="invalid_token"'),
    })
  })

  it('refuses before it reads the body', async () => {
    const response = await t.app.inject({
      method: 'POST',
      url: '/v1/things',
      headers: { 'content-type': 'application/json' },
      payload: '{broken',
    })
    expect(response.statusCode).toBe(401)
  })

  it('requires the scope; a write scope includes its read scope, but not the reverse', async () => {
    expect((await ask('GET', `/v1/things/${thingId}`, await t.token({ scopes: ['things:write'] }))).status).toBe(200)
    expect((await ask('GET', `/v1/things/${thingId}`, await t.token({ scopes: ['things:read'] }))).status).toBe(200)
    const refused = await ask('POST', '/v1/things', await t.token({ scopes: ['things:read'] }))
    expect(refused).toMatchObject({
      status: 403,
      code: 'insufficient-scope',
      body: { required_scopes: ['things:write'] },
      challenge: expect.stringContaining('scope="things:write"'),
    })
  })
})

describe('consent scopes', () => {
  const statuses = async (
    of: TestApplication,
    claims: Partial<TokenClaims>,
    query = '',
    headers: Record<string, string> = {},
  ) => {
    const authorized = { ...(await of.token(claims)), ...headers }
    const asked = (['GET', 'POST'] as const).map((method) =>
      of.app.inject({ method, url: `/v1/permits${query}`, headers: authorized }),
    )
    return (await Promise.all(asked)).map(({ statusCode }) => statusCode)
  }
  const none: Partial<TokenClaims> = { scopes: ['things:write'] }
  const read: Partial<TokenClaims> = { scopes: ['consents:read'] }
  const write: Partial<TokenClaims> = { scopes: ['consents:write'] }

  it('are not required unless the configuration lists the organisation', async () => {
    expect(await statuses(t, none)).toEqual([200, 200])
    expect(await statuses(t, { ...none, orgId: null })).toEqual([200, 200])
  })

  it('are required for the listed organisations only', async () => {
    const some = await startApplication({ env: { CONSENT_SCOPES_REQUIRED: `${orgB},${orgA.toUpperCase()}` } })
    expect(await statuses(some, none)).toEqual([403, 403])
    expect(await statuses(some, read)).toEqual([200, 403])
    expect(await statuses(some, write)).toEqual([200, 200])
    expect(await statuses(some, { ...none, orgId: orgA.toUpperCase() })).toEqual([403, 403])
    const other = 'a1b2c3d4-0000-4000-8000-000000000001'
    expect(await statuses(some, { ...none, orgId: other })).toEqual([200, 200])
    // With a token of an organisation, another organisation in the request selects nothing.
    expect(await statuses(some, { ...none, orgId: other }, `?org_id=${orgA}`)).toEqual([200, 200])
    expect(await statuses(some, none, `?org_id=${other}`)).toEqual([403, 403])
    const refused = await some.app.inject({ method: 'GET', url: '/v1/permits', headers: await some.token(none) })
    expect([
      refused.json<{ code: string }>().code,
      refused.json<{ required_scopes: string[] }>().required_scopes,
    ]).toEqual(['insufficient-scope', ['consents:read']])
    await some.app.close()
  })

  it('depend on the organisation for which a platform client or its actor acts', async () => {
    const some = await startApplication({ env: { CONSENT_SCOPES_REQUIRED: orgA } })
    const platform: Partial<TokenClaims> = { ...none, orgId: null }
    for (const query of [
      `?org_id=${orgA}`,
      `?orgId=${orgA.toUpperCase()}`,
      `?org_id=${orgB}&orgId=${orgA}`,
      `?org_id=${orgB}&org_id=${orgA}`,
    ]) {
      expect(await statuses(some, platform, query)).toEqual([403, 403])
    }
    expect(await statuses(some, platform, `?org_id=${orgB}`)).toEqual([200, 200])
    expect(await statuses(some, { ...platform, scopes: ['consents:read'] }, `?org_id=${orgA}`)).toEqual([200, 403])
    const context = { 'x-actor-context': contextOf(actor) }
    expect(await statuses(some, { ...platform, ...trusted }, `?org_id=${orgB}`, context)).toEqual([403, 403])
    await some.app.close()
  })

  it('are required for all organisations with `all`', async () => {
    const all = await startApplication({ env: { CONSENT_SCOPES_REQUIRED: 'all' } })
    for (const claims of [none, { ...none, orgId: orgB }, { ...none, orgId: null }])
      expect(await statuses(all, claims)).toEqual([403, 403])
    expect(await statuses(all, write)).toEqual([200, 200])
    await all.app.close()
  })
})

describe('organisations', () => {
  it('answers 404 for a token and another organisation, 400 for a platform token without an organisation', async () => {
    expect((await ask('GET', `/v1/things/${thingId}?org_id=${orgB}`, await t.token())).code).toBe('not-found')
    const platformToken = await t.token({ orgId: null })
    expect(await ask('GET', `/v1/things/${thingId}`, platformToken)).toMatchObject({
      status: 400,
      code: 'org-required',
    })
    expect((await ask('GET', `/v1/things/${thingId}?org_id=${orgB.toUpperCase()}`, platformToken)).body).toMatchObject({
      name: `${orgB} undefined`,
    })
    expect((await ask('GET', `/v1/things/${thingId}?org_id=nowhere`, platformToken)).code).toBe('not-found')
  })

  it('uses the organisation of the actor context if the token has none', () => {
    const context = {
      userId: 'u',
      auditId: 'u',
      orgId: orgB,
      userType: null,
      role: null,
      permissions: new Set<string>(),
      productIds: [],
    }
    const caller: Caller = {
      clientId: 'c',
      orgId: null,
      productId: null,
      scopes: new Set(),
      trustedActorContext: true,
      actor: context,
      isBootstrapAdmin: false,
    }
    expect(tenantOf(caller)).toBe(orgB)
    expect(() => tenantOf(caller, orgA)).toThrow(expect.objectContaining({ code: 'not-found' }))
  })

  it('accepts any UUID but the nil UUID as an organisation, and nothing else', () => {
    const caller: Caller = {
      clientId: 'c',
      orgId: null,
      productId: null,
      scopes: new Set(),
      trustedActorContext: false,
      actor: null,
      isBootstrapAdmin: false,
    }
    const ofNoVersion = 'a1b2c3d4-0000-0000-0000-000000000001'
    expect(tenantOf(caller, ofNoVersion.toUpperCase())).toBe(ofNoVersion)
    for (const other of [`urn:uuid:${ofNoVersion}`, noOrganisation])
      expect(() => tenantOf(caller, other)).toThrow(expect.objectContaining({ code: 'not-found' }))
  })
})

describe('actor contexts', () => {
  it('admits an actor with the permission, but only from a trusted client', async () => {
    const headers = { 'x-actor-context': contextOf(actor) }
    expect((await ask('POST', '/v1/admin/things', { ...(await t.token(trusted)), ...headers })).body).toEqual({
      id: 'client-a',
      name: orgA,
      note: 'false',
    })
    expect((await ask('POST', '/v1/admin/things', { ...(await t.token()), ...headers })).code).toBe(
      'actor-context-not-accepted',
    )
    expect((await ask('GET', '/v1/whoami', { ...(await t.token()), ...headers })).code).toBe(
      'actor-context-not-accepted',
    )
    expect((await ask('GET', '/v1/whoami', { ...(await t.token(trusted)), ...headers })).body).toEqual({
      id: 'client-a',
      name: 'user-1',
    })
    expect((await ask('POST', '/v1/admin/things', headers)).code).toBe('token-missing')
  })

  it('appear in event metadata as the user id if it is a UUID, else as a hash that differs between organisations', async () => {
    const userIdAt = async (orgId: string, user_id: string) => {
      const headers = {
        ...(await t.token({ ...client, orgId, trustedActorContext: true })),
        'x-actor-context': contextOf({ ...actor, org_id: orgId, user_id }),
      }
      const answer = await t.app.inject({
        method: 'POST',
        url: '/v1/clinical-api/things',
        headers,
        payload: { name: 'a' },
      })
      return String(JSON.parse(answer.json().note).userId)
    }
    expect(await userIdAt(orgA, '018F0000-0000-7000-8000-0000000000AA')).toBe('018f0000-0000-7000-8000-0000000000aa')
    const hashed = await userIdAt(orgA, 'jane.doe@clinic.test')
    expect(hashed).toMatch(/^[0-9a-f]{64}$/)
    expect(await userIdAt(orgA, 'jane.doe@clinic.test')).toBe(hashed)
    expect(await userIdAt(orgB, 'jane.doe@clinic.test')).not.toBe(hashed)
    expect(await userIdAt(orgA, 'john.doe@clinic.test')).not.toBe(hashed)
  })

  it('are audited with the user id if it is one of ours', async () => {
    const ids = ['018f0000-0000-7000-8000-0000000000aa', 'jane.doe@clinic.test']
    for (const user_id of ids)
      await ask('POST', '/v1/admin/things', {
        ...(await t.token(trusted)),
        'x-actor-context': contextOf({ ...actor, user_id }),
      })
    expect(t.log()).toContain(`"actor":"${ids[0]}"`)
    expect(t.log()).not.toContain('jane.doe')
  })

  it.each([
    ['no context', undefined, 'actor-context-missing'],
    ['no permission', contextOf({ ...actor, permissions: ['things:read'] }), 'permission-missing'],
    ['another organisation', contextOf({ ...actor, org_id: orgB }), 'org-mismatch'],
    ['a missing claim', contextOf({ user_id: 'u', org_id: orgA }), 'actor-context-invalid'],
    ['plain JSON', JSON.stringify(actor), 'actor-context-invalid'],
    ['broken JSON', 'e30.e30x.', 'actor-context-invalid'],
    ['more than 8 KiB', contextOf({ ...actor, display_name: 'x'.repeat(8000) }), 'actor-context-invalid'],
  ])('refuses %s with 403', async (_, header, code) => {
    const refused = await ask('POST', '/v1/admin/things', {
      ...(await t.token(trusted)),
      ...(header === undefined ? {} : { 'x-actor-context': header }),
    })
    expect([refused.status, refused.code]).toEqual([403, code])
  })

  it('takes only the user and the organisation of a resolved context', async () => {
    const resolve = vi.fn(async (selected: SelectedActor) => ({
      ...selected,
      userType: 'clinician',
      role: 'Clinician',
      permissions: new Set(['things:read']),
      productIds: [],
    }))
    const strict = await startApplication({ env: { ACTOR_CONTEXT_MODE: 'resolve' }, resolve })
    const asked = async (claims: object) => {
      const headers = { ...(await strict.token(trusted)), 'x-actor-context': contextOf(claims) }
      const { statusCode, body } = await strict.app.inject({ method: 'POST', url: '/v1/admin/things', headers })
      return `${statusCode} ${(JSON.parse(body) as { code?: string }).code ?? ''}`.trim()
    }
    expect(await asked(actor)).toBe('403 permission-missing')
    resolve.mockImplementation(async (selected) => ({
      ...selected,
      userType: 'clinician',
      role: 'Administrator',
      permissions: new Set(['things:admin']),
      productIds: [],
    }))
    expect(await asked({ user_id: actor.user_id, org_id: orgA })).toBe('200')
    resolve.mockClear()
    expect(await asked({ ...actor, org_id: orgB })).toBe('403 org-mismatch')
    expect(resolve).not.toHaveBeenCalled()
    resolve.mockRejectedValue(problem('actor-context-unavailable'))
    expect(await asked(actor)).toBe('503 actor-context-unavailable')
    await strict.app.close()
  })
})

describe('signed actor contexts', () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const other = generateKeyPairSync('ed25519').privateKey
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'products', alg: 'EdDSA', use: 'sig' }
  const env = { ACTOR_CONTEXT_MODE: 'signed', ACTOR_CONTEXT_JWKS: JSON.stringify({ keys: [jwk] }) }
  const head = { alg: 'EdDSA', typ: 'actor-context+jwt', kid: 'products' }
  let signed: TestApplication
  beforeAll(async () => {
    signed = await startApplication({ env })
  })
  afterAll(() => signed.app.close())

  const seconds = () => Math.floor(Date.now() / 1000)
  const sign = (claims: object = {}, header: object = {}, key = privateKey) =>
    new SignJWT({ ...actor, iat: seconds(), exp: seconds() + 300, ...claims })
      .setProtectedHeader({ ...head, ...header })
      .sign(key)
  async function answerTo(context: string, claims: Partial<TokenClaims> = trusted): Promise<string> {
    const headers = { ...(await signed.token(claims)), 'x-actor-context': context }
    const { statusCode, body } = await signed.app.inject({ method: 'POST', url: '/v1/admin/things', headers })
    return `${statusCode} ${(JSON.parse(body) as { code?: string }).code ?? ''}`.trim()
  }

  it('are accepted with a configured key, from a trusted client, for its own organisation', async () => {
    expect(await answerTo(await sign())).toBe('200')
    expect(await answerTo(await sign(), {})).toBe('403 actor-context-not-accepted')
    expect(await answerTo(await sign({ org_id: orgB }))).toBe('403 org-mismatch')
    expect(await answerTo(await sign({ permissions: [] }))).toBe('403 permission-missing')
  })

  it.each<[string, () => Promise<string> | string]>([
    ['unsigned', () => contextOf(actor)],
    ['signed by another key', () => sign({}, {}, other)],
    ['signed by a key that is not configured', () => sign({}, { kid: 'unknown' })],
    ['signed by a key with another id than in the header', () => sign({}, { kid: undefined })],
    [
      'altered',
      async () =>
        (await sign()).replace(
          /\.([^.]+)\./,
          `.${Buffer.from(JSON.stringify({ ...actor, user_id: 'root' })).toString('base64url')}.`,
        ),
    ],
    ['another kind of token', () => sign({}, { typ: 'at+jwt' })],
    ['expired', () => sign({ iat: seconds() - 400, exp: seconds() - 100 })],
    ['valid for more than five minutes', () => sign({ exp: seconds() + 301 })],
    ['older than five minutes', () => sign({ iat: seconds() - 600, exp: seconds() + 60 })],
    ['issued in the future', () => sign({ iat: seconds() + 600, exp: seconds() + 700 })],
    ['without an expiry', () => sign({ exp: undefined })],
    [
      'signed with the public key as if it were a secret',
      () =>
        new SignJWT({ ...actor, iat: seconds(), exp: seconds() + 60 })
          .setProtectedHeader({ ...head, alg: 'HS256' })
          .sign(Buffer.from(JSON.stringify(jwk))),
    ],
  ])('are refused when they are %s', async (_, make) => {
    expect(await answerTo(await make())).toBe('403 actor-context-invalid')
  })
})

describe('the administrator secret', () => {
  it('is sufficient alone, is logged, and opens admin routes only', async () => {
    expect((await ask('POST', '/v1/admin/things', { 'x-admin-api-secret': adminSecret })).body).toEqual({
      id: 'bootstrap',
      name: orgA,
      note: 'true',
    })
    expect(t.log()).toContain('administrator secret used')
    expect(t.log()).not.toContain(adminSecret)
    expect((await ask('GET', '/v1/whoami', { 'x-admin-api-secret': adminSecret })).code).toBe('token-missing')
  })

  it('acts for the organisation of an additional token, and refuses an invalid one', async () => {
    const headers = { 'x-admin-api-secret': adminSecret }
    expect((await ask('POST', '/v1/admin/things', { ...headers, ...(await t.token({ orgId: orgB })) })).code).toBe(
      'not-found',
    )
    expect((await ask('POST', '/v1/admin/things', { ...headers, authorization: 'Bearer abc' })).code).toBe(
      'token-invalid',
    )
  })

  it('is refused if it is wrong or switched off', async () => {
    expect(await ask('POST', '/v1/admin/things', { 'x-admin-api-secret': `${adminSecret}x` })).toMatchObject({
      status: 401,
      code: 'admin-secret-invalid',
    })
    const off = await startApplication()
    const refused = await off.app.inject({
      method: 'POST',
      url: '/v1/admin/things',
      headers: { 'x-admin-api-secret': adminSecret },
    })
    expect(refused.json()).toMatchObject({ code: 'admin-secret-invalid' })
    await off.app.close()
  })
})

describe('tokens', () => {
  const issuer = 'https://platform.test/v1/auth'
  const audience = 'https://platform.test'
  const keys = newTokenKeys()
  const at = (iso: string) => () => new Date(iso)
  const options = { keys, issuer, audience, ttlSeconds: 3600, now: at('2030-01-01T12:00:00Z') }
  const tokens = createTokenIssuer(options)

  it('verifies issued tokens: claims, sorted scopes, lifetime', async () => {
    const issued = await tokens.issue({
      ...client,
      scopes: ['b:read', 'a:write', 'b:read'],
      productId: 'p',
      trustedActorContext: true,
    })
    expect(issued).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'a:write b:read' })
    expect(await tokens.verify(issued.access_token)).toMatchObject({
      clientId: 'client-a',
      orgId: orgA,
      productId: 'p',
      scopes: ['a:write', 'b:read'],
      trustedActorContext: true,
    })
    expect(await tokens.jwks()).toEqual({
      keys: [expect.objectContaining({ kty: 'OKP', crv: 'Ed25519', kid: 'key-1' })],
    })
  })

  it('recognises an expired token, seen before or not', async () => {
    let now = '2030-01-01T12:00:00Z'
    const moving = createTokenIssuer({ ...options, now: () => new Date(now) })
    const { access_token: token } = await moving.issue(client)
    await moving.verify(token)
    now = '2030-01-01T13:00:00Z'
    await expect(moving.verify(token)).rejects.toMatchObject({ reason: 'expired' })
    await expect(createTokenIssuer({ ...options, now: at(now) }).verify(token)).rejects.toMatchObject({
      reason: 'expired',
    })
  })

  it('verifies with a key that was published after the last read of keys', async () => {
    const later = newTokenKeys('key-2')
    const published = [...(await keys.publicKeys('token'))]
    let now = new Date('2030-01-01T12:00:00Z')
    const verifier = createTokenIssuer({
      ...options,
      now: () => now,
      keys: { ...keys, publicKeys: async () => published },
    })
    await verifier.verify((await tokens.issue(client)).access_token)
    published.push(...(await later.publicKeys('token')))
    const { access_token: token } = await createTokenIssuer({ ...options, keys: later }).issue(client)
    await expect(verifier.verify(token)).rejects.toMatchObject({ reason: 'invalid' })
    now = new Date('2030-01-01T12:00:06Z')
    expect(await verifier.verify(token)).toMatchObject({ clientId: 'client-a' })
  })

  const claims = { client_id: 'client-a', scope: 'a' }
  const seconds = Date.parse('2030-01-01T12:00:00Z') / 1000
  const build = (
    header: { alg: string; typ?: string; kid?: string },
    change: (jwt: SignJWT) => SignJWT = (jwt) => jwt,
  ) =>
    change(
      new SignJWT(claims)
        .setProtectedHeader({ typ: 'at+jwt', kid: 'key-1', ...header })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject('client-a')
        .setJti('1')
        .setIssuedAt(seconds)
        .setExpirationTime(seconds + 60),
    )

  it.each([
    ['another type', () => build({ alg: 'EdDSA', typ: 'JWT' })],
    ['an unknown key', () => build({ alg: 'EdDSA', kid: 'key-9' })],
    ['another issuer', () => build({ alg: 'EdDSA' }, (jwt) => jwt.setIssuer('https://evil.test'))],
    ['another audience', () => build({ alg: 'EdDSA' }, (jwt) => jwt.setAudience('https://evil.test'))],
    [
      'an issue time in the future',
      () => build({ alg: 'EdDSA' }, (jwt) => jwt.setIssuedAt(seconds + 600).setExpirationTime(seconds + 900)),
    ],
    ['a start in the future', () => build({ alg: 'EdDSA' }, (jwt) => jwt.setNotBefore(seconds + 600))],
  ])('refuses %s', async (_, jwt) => {
    const { privateKey } = await keys.signingKey('token')
    await expect(tokens.verify(await jwt().sign(privateKey))).rejects.toMatchObject({ reason: 'invalid' })
  })

  it('ignores the algorithm of the header', async () => {
    const [publicJwk] = await keys.publicKeys('token')
    const swapped = await build({ alg: 'HS256' }).sign(new TextEncoder().encode(JSON.stringify(publicJwk)))
    const [, payload = ''] = swapped.split('.')
    const unsigned = `${Buffer.from('{"alg":"none","typ":"at+jwt","kid":"key-1"}').toString('base64url')}.${payload}.`
    for (const token of [swapped, unsigned, 'a.b.c', '', 'x'.repeat(9000)]) {
      await expect(tokens.verify(token)).rejects.toMatchObject({ reason: 'invalid' })
    }
  })

  it('refuses a changed payload', async () => {
    const [header = '', payload = '', signature = ''] = (await tokens.issue(client)).access_token.split('.')
    const changed = { ...(JSON.parse(Buffer.from(payload, 'base64url').toString()) as object), org_id: orgB }
    await expect(
      tokens.verify(`${header}.${Buffer.from(JSON.stringify(changed)).toString('base64url')}.${signature}`),
    ).rejects.toMatchObject({ reason: 'invalid' })
  })
})

describe('the log of refusals', () => {
  it('contains the source address and the code; behind a trusted proxy, the address of the caller', async () => {
    const behind = await startApplication({ env: { ADMIN_API_SECRET: adminSecret, TRUSTED_PROXIES: '127.0.0.1' } })
    const send = async (path: string, headers: Record<string, string>, sourceAddress: string) => {
      const before = behind.log().length
      await behind.app.inject({
        method: path.includes('admin') ? 'POST' : 'GET',
        url: path,
        remoteAddress: '127.0.0.1',
        headers: { ...headers, 'x-forwarded-for': `203.0.113.1, ${sourceAddress}` },
      })
      const lines = behind
        .log()
        .slice(before)
        .split('\n')
        .filter((line) => line.includes('sourceAddress'))
        .map((line) => JSON.parse(line) as Record<string, unknown>)
      return lines.map(({ msg, code, sourceAddress: logged, route }) => [msg, code, logged, route])
    }
    const token = await behind.token()
    const whoami = '/v1/clinical-api/whoami'
    const admin = '/v1/clinical-api/admin/things'
    expect(await send(whoami, {}, '198.51.100.1')).toEqual([
      ['access refused', 'token-missing', '198.51.100.1', whoami],
    ])
    expect(await send(whoami, { authorization: 'Bearer abc' }, '198.51.100.2')).toEqual([
      ['access refused', 'token-invalid', '198.51.100.2', whoami],
    ])
    expect(await send(whoami, { ...token, 'x-actor-context': contextOf(actor) }, '198.51.100.3')).toEqual([
      ['access refused', 'actor-context-not-accepted', '198.51.100.3', whoami],
    ])
    expect(
      await send(whoami, { ...(await behind.token(trusted)), 'x-actor-context': 'a.b.c' }, '198.51.100.4'),
    ).toEqual([['access refused', 'actor-context-invalid', '198.51.100.4', whoami]])
    expect(await send(admin, token, '198.51.100.5')).toEqual([
      ['access refused', 'actor-context-missing', '198.51.100.5', admin],
    ])
    expect(await send(admin, { 'x-admin-api-secret': 'x'.repeat(40) }, '2001:db8::1')).toEqual([
      ['access refused', 'admin-secret-invalid', '2001:db8::1', admin],
    ])
    expect(await send(admin, { 'x-admin-api-secret': adminSecret }, '198.51.100.6')).toEqual([
      ['administrator secret used', undefined, '198.51.100.6', admin],
    ])
    expect(await send(whoami, token, '198.51.100.7')).toEqual([])
    await behind.app.close()
  })
})
