import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createIdentityProvider } from '../../../app/identity-provider.ts'
import {
  IdentityProviderRejectedError,
  IdentityProviderUnavailableError,
  type IdentityProvider,
} from '../../../contracts/users/identity-provider.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import { createEgress, type Egress } from '../../../platform/outbound/egress.ts'
import { createMockIdentityProvider } from '../../../processes/adapters/mock-identity-provider.ts'
import { standInSecret, startKeycloakStandIn, type KeycloakStandIn } from '../../support/keycloak-stand-in.ts'

const signal = AbortSignal.timeout(60_000)
let standIn: KeycloakStandIn
const opened: Egress[] = []

beforeAll(async () => {
  standIn = await startKeycloakStandIn()
})
afterAll(async () => {
  for (const egress of opened) await egress.close()
  await standIn.close()
})

interface Server {
  readonly url: string
  readonly realm: string
  readonly clientId: string
  readonly secret: string
}

/** Connections of its own, so an open circuit of one test does not fail the next. */
function keycloakAt({ url, realm, clientId, secret }: Server): IdentityProvider {
  const configuration = loadConfiguration({
    IDP_MODE: 'keycloak',
    KEYCLOAK_BASE_URL: url,
    KEYCLOAK_REALM: realm,
    KEYCLOAK_CLIENT_ID: clientId,
    KEYCLOAK_CLIENT_SECRET: secret,
  })
  const egress = createEgress({ configuration })
  opened.push(egress)
  return createIdentityProvider(configuration, egress, () => new Date())
}

const ofStandIn = (secret = standInSecret) =>
  keycloakAt({ url: standIn.url, realm: 'clinic', clientId: 'platform', secret })

/** A new user on each call. */
function account(userId: string = randomUUID()) {
  return { userId, email: `${userId}@example.org`, displayName: 'Zoë Ng', locale: 'en-GB' }
}

const { KEYCLOAK_URL, KEYCLOAK_REALM = '', KEYCLOAK_CLIENT_ID = '', KEYCLOAK_CLIENT_SECRET = '' } = process.env
const providers: [string, () => IdentityProvider][] = [
  ['the mock', () => createMockIdentityProvider()],
  ['the stand-in', () => ofStandIn()],
]
if (KEYCLOAK_URL !== undefined) {
  const server = {
    url: KEYCLOAK_URL,
    realm: KEYCLOAK_REALM,
    clientId: KEYCLOAK_CLIENT_ID,
    secret: KEYCLOAK_CLIENT_SECRET,
  }
  providers.push(['a real Keycloak', () => keycloakAt(server)])
}

describe.each(providers)('accounts at %s', (_, provider) => {
  test('a second creation finds the account of the first', async () => {
    const idp = provider()
    const created = account()
    const first = await idp.create(created, signal)
    expect(await idp.create(created, signal)).toEqual(first)
    expect(await idp.get(created.userId, signal)).toEqual({ ...first, isEnabled: true })
  })

  test('creations at the same time make one account', async () => {
    const idp = provider()
    const created = account()
    const made = await Promise.all([1, 2, 3].map(() => idp.create(created, signal)))
    expect(new Set(made.map(({ externalId }) => externalId)).size).toBe(1)
  })

  test('a user without an account has none', async () => {
    expect(await provider().get(randomUUID(), signal)).toBe(null)
  })

  test.each([
    ['disabling and enabling', {}],
    [
      'a change of address, name and locale',
      { email: `New.${randomUUID()}@example.org`, displayName: 'Zoë Lim', locale: 'de' },
    ],
    ['a change of what nobody knows any more', { email: null, displayName: null, locale: null }],
  ])('%s may be repeated, and the account stays ours', async (_, changes) => {
    const idp = provider()
    const created = account()
    const { externalId } = await idp.create(created, signal)
    for (const isEnabled of [false, true])
      for (const turn of ['first', 'again']) {
        await idp.update(externalId, { ...created, ...changes, isEnabled }, signal)
        expect(await idp.get(created.userId, signal), turn).toEqual({ externalId, isEnabled })
      }
  })

  test('a deleted account is gone, and its deletion may be repeated', async () => {
    const idp = provider()
    const created = account()
    const { externalId } = await idp.create(created, signal)
    await idp.delete(externalId, signal)
    await idp.delete(externalId, signal)
    expect(await idp.get(created.userId, signal)).toBe(null)
    await idp.create(created, signal)
    expect(await idp.get(created.userId, signal)).toMatchObject({ isEnabled: true })
  })
})

/** Where another server than the mock takes part. */
describe.each(providers.slice(1))('%s', (_, provider) => {
  test('refuses an address that another account has, and keeps no account', async () => {
    const idp = provider()
    const first = account()
    await idp.create(first, signal)
    const second = { ...account(), email: first.email }
    await expect(idp.create(second, signal)).rejects.toBeInstanceOf(IdentityProviderRejectedError)
    expect(await idp.get(second.userId, signal)).toBe(null)
  })

  test('refuses to change an account that does not exist', async () => {
    await expect(provider().update(randomUUID(), { ...account(), isEnabled: false }, signal)).rejects.toBeInstanceOf(
      IdentityProviderRejectedError,
    )
  })

  test('gives an address that an account has left to another one, and refuses the address of another one', async () => {
    const idp = provider()
    const [first, second] = [account(), account()]
    const { externalId } = await idp.create(first, signal)
    const taking = { ...first, email: second.email, isEnabled: true }
    await idp.create(second, signal)
    await expect(idp.update(externalId, taking, signal)).rejects.toBeInstanceOf(IdentityProviderRejectedError)
    await idp.update(
      externalId,
      { ...first, ...account(first.userId), email: `moved.${first.email}`, isEnabled: true },
      signal,
    )
    const third = { ...account(), email: first.email }
    expect(await idp.create(third, signal)).not.toEqual({ externalId })
  })
})

describe('an account that changes', () => {
  const changesOf = (of: Partial<Parameters<IdentityProvider['update']>[1]>) => async () => {
    const created = account()
    const { externalId } = await ofStandIn().create(created, signal)
    const other = {
      emailVerified: true,
      attributes: { ...Object(standIn.accounts.get(externalId)?.attributes), ward: ['3'] },
    }
    Object.assign(standIn.accounts.get(externalId) ?? {}, other)
    await ofStandIn().update(externalId, { ...created, isEnabled: true, ...of }, signal)
    const { id: _, username: __, ...after } = standIn.accounts.get(externalId) ?? {}
    return { created, after }
  }

  test('has a new address that is not verified, and keeps the attributes of others', async () => {
    const email = `${randomUUID()}@example.org`
    const { created, after } = await changesOf({ email, displayName: 'Zoë Lim', locale: 'de' })()
    expect(after).toEqual({
      email,
      emailVerified: false,
      firstName: 'Zoë Lim',
      enabled: true,
      attributes: { platform_user_id: [created.userId], locale: ['de'], ward: ['3'] },
    })
  })

  test('has a verified address still, if only its status changes', async () => {
    const { created, after } = await changesOf({ isEnabled: false })()
    expect(after).toEqual({
      email: created.email,
      emailVerified: true,
      firstName: created.displayName,
      enabled: false,
      attributes: { platform_user_id: [created.userId], locale: ['en-GB'], ward: ['3'] },
    })
  })
})

test('the mock names the same subject after a restart', async () => {
  const created = account()
  const first = await createMockIdentityProvider().create(created, signal)
  expect(await createMockIdentityProvider().create(created, signal)).toEqual(first)
})

describe('a Keycloak that fails', () => {
  let idp: IdentityProvider
  beforeEach(() => {
    idp = ofStandIn()
  })

  const numberOf = (userId: string) => [...standIn.accounts.values()].filter((one) => one.username === userId).length

  test('a token that is no longer accepted is renewed once', async () => {
    const created = account()
    const { externalId } = await idp.create(created, signal)
    standIn.failNext(/^PUT /, { status: 401 })
    await idp.update(externalId, { ...created, isEnabled: false }, signal)
    expect(await idp.get(created.userId, signal)).toMatchObject({ isEnabled: false })
    standIn.failNext(/^PUT /, { status: 401 }, { status: 401 })
    await expect(idp.update(externalId, { ...created, isEnabled: true }, signal)).rejects.toBeInstanceOf(
      IdentityProviderRejectedError,
    )
  })

  test('wrong credentials are a refusal, and the error contains no secret', async () => {
    const secret = 'a-wrong-secret-of-thirty-two-characters'
    const error: unknown = await ofStandIn(secret)
      .get(randomUUID(), signal)
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(IdentityProviderRejectedError)
    expect(String(error)).not.toContain(secret)
  })

  test('a connection that breaks after the account was created leaves one account, which the next call finds', async () => {
    const created = account()
    standIn.failNext(/^POST .*\/users$/, 'cut-after')
    await expect(idp.create(created, signal)).rejects.toBeInstanceOf(IdentityProviderUnavailableError)
    const { externalId } = await idp.create(created, signal)
    expect(await idp.get(created.userId, signal)).toEqual({ externalId, isEnabled: true })
    expect(numberOf(created.userId)).toBe(1)
  })

  test('a realm that drops our attribute keeps no account', async () => {
    const created = account()
    standIn.keepsAttributes = false
    await expect(idp.create(created, signal)).rejects.toBeInstanceOf(IdentityProviderRejectedError)
    standIn.keepsAttributes = true
    expect(numberOf(created.userId)).toBe(0)
  })

  test.each([
    [{ status: 500 }, false],
    [{ status: 503 }, false],
    [{ status: 429 }, false],
    [{ status: 502 }, true],
    [{ status: 504 }, true],
    ['cut-before', true],
    ['cut-after', true],
  ] as const)('a message counts as sent unless the server says otherwise: %j', async (fault, mayHaveHappened) => {
    const { externalId } = await idp.create(account(), signal)
    standIn.failNext(/execute-actions-email$/, fault)
    await expect(idp.resetPassword(externalId, signal)).rejects.toMatchObject({
      name: 'IdentityProviderUnavailableError',
      mayHaveHappened,
    })
  })

  test.each([{ status: 302 }, { status: 400 }, { status: 403 }, { status: 404 }] as const)(
    'an answer %j to a change is a refusal, and no redirect is followed',
    async (fault) => {
      const created = account()
      const { externalId } = await idp.create(created, signal)
      const before = standIn.calls.length
      standIn.failNext(/^PUT /, fault)
      await expect(idp.update(externalId, { ...created, isEnabled: false }, signal)).rejects.toBeInstanceOf(
        IdentityProviderRejectedError,
      )
      expect(standIn.calls.slice(before).filter((call) => call.startsWith('PUT '))).toHaveLength(1)
    },
  )

  test.each(['not-json', 'endless'] as const)('an answer that is %s is none', async (fault) => {
    standIn.failNext(/^GET /, fault)
    await expect(idp.get(randomUUID(), signal)).rejects.toBeInstanceOf(IdentityProviderUnavailableError)
  })

  test('a server that does not answer is given up when the caller wants it', async () => {
    await idp.get(randomUUID(), signal)
    standIn.failNext(/^GET /, 'hang')
    const waiting = idp.get(randomUUID(), AbortSignal.timeout(100))
    await expect(waiting).rejects.toMatchObject({ mayHaveHappened: true })
  })

  test('nothing happened at a server that is away', async () => {
    const away = keycloakAt({ url: 'http://127.0.0.1:1', realm: 'clinic', clientId: 'platform', secret: standInSecret })
    await expect(away.get(randomUUID(), signal)).rejects.toMatchObject({ mayHaveHappened: false })
  })
})
