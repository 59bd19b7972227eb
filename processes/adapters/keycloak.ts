import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/schema'
import { atFirstUse } from '../../platform/kit/at-first-use.ts'
import {
  IdentityProviderRejectedError,
  IdentityProviderUnavailableError,
  type ChangedAccount,
  type IdentityProvider,
  type NewAccount,
} from '../../contracts/users/identity-provider.ts'
import { EgressError } from '../../platform/outbound/egress-error.ts'
import type { Egress, EgressResponse } from '../../platform/outbound/egress.ts'
import { createClientToken, TokenRefusedError } from './client-token.ts'

export interface KeycloakSettings {
  readonly baseUrl: string
  readonly realm: string
  readonly clientId: string
  readonly clientSecret: string
}

/** The attribute of an account that contains our user id. */
export const userIdAttribute = 'platform_user_id'

const timeoutMs = 5_000
const maxBytes = 256 * 1024

const Account = Type.Object({
  id: Type.String(),
  enabled: Type.Boolean(),
  email: Type.Optional(Type.String()),
  attributes: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
})
type Account = Static<typeof Account>
const account = atFirstUse(() => Compile(Account))
const accounts = atFirstUse(() => Compile(Type.Array(Account)))

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: object
}

/**
 * Accounts of a Keycloak realm, by its admin API. Our user id is an attribute of the account, and its user name too: so
 * Keycloak itself refuses a second account of a user. Errors contain a status, never a text of the answer.
 */
export function createKeycloak(egress: Egress, settings: KeycloakSettings, now: () => Date): IdentityProvider {
  const { baseUrl, clientId, clientSecret } = settings
  const realm = encodeURIComponent(settings.realm)
  const endpoint = `${baseUrl}/realms/${realm}/protocol/openid-connect/token`
  const token = createClientToken(egress, { endpoint, purpose: 'identity', clientId, clientSecret }, now)

  /** A refused token is renewed once: it may have been revoked before its end. */
  async function call<Answer>(
    asked: Call,
    signal: AbortSignal,
    read: (response: EgressResponse) => Promise<Answer> | Answer,
  ): Promise<Answer> {
    for (let isRenewed = false; ; isRenewed = true) {
      const response = await send(asked, signal)
      const { status } = response
      if (status === 401 && !isRenewed) {
        await response.discard()
        token.drop()
        continue
      }
      if (isPassing(status)) {
        await response.discard()
        // A 502 or 504 comes from a gateway, so the state of the server behind it is unknown. Other statuses come from the server.
        throw unavailable(`answered ${status}`, status === 502 || status === 504)
      }
      try {
        return await read(response)
      } catch (error) {
        if (error instanceof IdentityProviderRejectedError) throw error
        throw unavailable('gave no whole answer', true)
      } finally {
        await response.discard()
      }
    }
  }

  async function send({ method, path, body }: Call, signal: AbortSignal): Promise<EgressResponse> {
    const bearer = await bearerToken()
    try {
      return await egress.request(`${baseUrl}/admin/realms/${realm}/users${path}`, {
        purpose: 'identity',
        method,
        headers: {
          authorization: `Bearer ${bearer}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        timeoutMs,
        maxBytes,
        signal,
      })
    } catch (error) {
      if (error instanceof EgressError) throw unavailable(error.code, error.mayHaveBeenSent)
      throw error
    }
  }

  async function bearerToken(): Promise<string> {
    try {
      return await token.get()
    } catch (error) {
      if (error instanceof TokenRefusedError && !isPassing(error.status)) throw rejected(error.status, true)
      throw unavailable(error instanceof EgressError ? error.code : 'gave no token', false)
    }
  }

  async function find(userId: string, signal: AbortSignal): Promise<Account | null> {
    const query = new URLSearchParams({ q: `${userIdAttribute}:${userId}`, briefRepresentation: 'false' })
    return call({ method: 'GET', path: `?${query.toString()}` }, signal, async (response) => {
      if (response.status !== 200) throw rejected(response.status)
      const found = await response.json()
      if (!accounts().Check(found)) throw new TypeError('not a list of accounts')
      return found.find(({ attributes }) => attributes?.[userIdAttribute]?.includes(userId) === true) ?? null
    })
  }

  async function accountWith(externalId: string, signal: AbortSignal): Promise<Account> {
    return call({ method: 'GET', path: pathOf(externalId) }, signal, async (response) => {
      if (response.status !== 200) throw rejected(response.status)
      const found = await response.json()
      if (!account().Check(found)) throw new TypeError('not an account')
      return found
    })
  }

  /** Needs one of these statuses. */
  async function change(asked: Call, statuses: readonly number[], signal: AbortSignal): Promise<void> {
    await call(asked, signal, ({ status }) => {
      if (!statuses.includes(status)) throw rejected(status)
    })
  }

  async function remove(externalId: string, signal: AbortSignal): Promise<void> {
    await change({ method: 'DELETE', path: pathOf(externalId) }, [204, 404], signal)
  }

  return {
    async create(account, signal) {
      const known = await find(account.userId, signal)
      if (known !== null) return { externalId: known.id }
      const posted = await call({ method: 'POST', path: '', body: representation(account) }, signal, (response) => ({
        status: response.status,
        externalId: idIn(response.headers['location']),
      }))
      if (posted.status !== 201 && posted.status !== 409) throw rejected(posted.status)
      // 409: another call for the same user was faster, or another account has the address.
      const created = await find(account.userId, signal)
      if (created !== null) return { externalId: created.id }
      // A realm that drops our attribute would keep an account that nobody finds again.
      if (posted.externalId !== null) await remove(posted.externalId, signal)
      throw rejected(posted.status)
    },
    async get(userId, signal) {
      const found = await find(userId, signal)
      return found === null ? null : { externalId: found.id, isEnabled: found.enabled }
    },
    async update(externalId, changed, signal) {
      const body = changedRepresentation(await accountWith(externalId, signal), changed)
      await change({ method: 'PUT', path: pathOf(externalId), body }, [204], signal)
    },
    delete: remove,
    resetPassword: (externalId, signal) => {
      const path = `${pathOf(externalId)}/execute-actions-email`
      return change({ method: 'PUT', path, body: ['UPDATE_PASSWORD'] }, [200, 204], signal)
    },
  }
}

function representation({ userId, email, displayName, locale }: NewAccount): object {
  return {
    username: userId,
    email,
    emailVerified: false,
    firstName: displayName,
    enabled: true,
    attributes: { [userIdAttribute]: [userId], ...(locale === null ? {} : { locale: [locale] }) },
  }
}

/** The whole account: Keycloak removes attributes that are not in the request. */
function changedRepresentation(
  before: Account,
  { userId, isEnabled, email, displayName, locale }: ChangedAccount,
): object {
  // Keycloak stores addresses in lower case.
  const isOther = email !== null && email.toLowerCase() !== before.email?.toLowerCase()
  return {
    ...before,
    enabled: isEnabled,
    ...(isOther ? { email, emailVerified: false } : {}),
    ...(displayName === null ? {} : { firstName: displayName }),
    attributes: {
      ...before.attributes,
      [userIdAttribute]: [userId],
      ...(locale === null ? {} : { locale: [locale] }),
    },
  }
}

function pathOf(externalId: string): string {
  return `/${encodeURIComponent(externalId)}`
}

/** The id at the end of the address of a new account. */
function idIn(location: string | string[] | undefined): string | null {
  const id = typeof location === 'string' ? location.slice(location.lastIndexOf('/') + 1) : ''
  return id === '' ? null : decodeURIComponent(id)
}

function isPassing(status: number): boolean {
  return status >= 500 || status === 408 || status === 429
}

function unavailable(what: string, mayHaveHappened: boolean): IdentityProviderUnavailableError {
  return new IdentityProviderUnavailableError(`the identity provider: ${what}`, { mayHaveHappened })
}

function rejected(status: number, isOfPlatform = status === 401 || status === 403): IdentityProviderRejectedError {
  return new IdentityProviderRejectedError(`the identity provider answered ${status}`, { isOfPlatform })
}
