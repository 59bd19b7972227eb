import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { atMost } from '../../platform/kit/at-most.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { TokenEndpointError, tokenEndpointError } from '../../platform/http/token-endpoint-errors.ts'
import type { TokenIssuer } from '../../platform/http/tokens.ts'
import { areEqualSecrets } from '../../platform/kit/sealed-bytes.ts'
import { liveSecrets, oauthClients, type RegisteredOauthClient } from '../../streams/oauth-client/aggregate.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { verifyAssertion } from './client-assertion.ts'
import type { ClientKeys } from './client-keys.ts'
import { readCredentials, type ClientCredentials } from './credentials.ts'

export interface AuthDependencies extends CommandDependencies {
  readonly clientKeys: ClientKeys
  readonly tokens: TokenIssuer
}

export interface AuthenticatedClient {
  readonly client: RegisteredOauthClient
  /** Null with an assertion. */
  readonly secretId: string | null
  /** The end of the secret. A token ends then, too. */
  readonly endsBy: Date | null
}

type AuthenticatedRequest = FastifyRequest<{ Body: Parameters<typeof readCredentials>[1] }>

/** The client that sends a form. Rejects with a `TokenEndpointError`, and counts wrong credentials of an address. */
export type AuthenticateClient = (request: AuthenticatedRequest) => Promise<AuthenticatedClient>

export function tokenEndpointOf({ baseUrl }: { readonly baseUrl: string }): string {
  return `${baseUrl}/v1/auth/oauth/token`
}

/**
 * Keyed hashes of credentials that were refused within the last half minute. An address that has to wait gets the same
 * refusal without a read. The time is short, because the credentials of a disabled client are correct again as soon as
 * it is enabled.
 */
const mostRefused = 10_000
const refusedMs = 30_000

export function createClientAuthentication(deps: Omit<AuthDependencies, 'tokens'>): AuthenticateClient {
  const { store, vault, configuration, clientKeys, now } = deps
  const audience = tokenEndpointOf(configuration)
  const refused = new LRUCache<string, true>({ ...atMost(mostRefused), ttl: refusedMs })

  return async (request) => {
    const { rateLimits } = request.server
    try {
      const credentials = readCredentials(request.headers.authorization, request.body)
      const digest = digestOf(credentials)
      if (refused.has(digest)) rateLimits.requireNoDelay(request)
      try {
        return await authenticate(credentials)
      } catch (error) {
        if (error instanceof TokenEndpointError) refused.set(digest, true)
        throw error
      }
    } catch (error) {
      if (error instanceof TokenEndpointError) rateLimits.credentialsRefused(request)
      throw error
    }
  }

  function digestOf({ clientId, ...proof }: ClientCredentials): string {
    const text = 'assertion' in proof ? proof.assertion : proof.clientSecret
    return vault.fingerprint(`credentials\0${clientId}\0${text}`)
  }

  async function authenticate(credentials: ClientCredentials): Promise<AuthenticatedClient> {
    const id = credentials.clientId.toLowerCase()
    const state = isUuid(id) ? (await store.load(oauthClients.of(id))).state : oauthClients.initialState
    const client = state.status === 'active' ? state : undefined
    const found =
      'assertion' in credentials
        ? await byAssertion(client, credentials.assertion)
        : bySecret(client, credentials.clientSecret)
    if (found === undefined) throw tokenEndpointError('invalid_client')
    return found
  }

  /** An unknown client takes the same comparison, so the time of the answer shows nothing. */
  function bySecret(client: RegisteredOauthClient | undefined, secret: string): AuthenticatedClient | undefined {
    const secrets = client === undefined ? [] : liveSecrets(client, now())
    const given = vault.fingerprint(secret)
    const nobodys = vault.fingerprint('no such client')
    const matches = [0, 1].map((place) => areEqualSecrets(given, secrets[place]?.hash ?? nobodys))
    const right = secrets[matches.indexOf(true)]
    if (client === undefined || right === undefined) return undefined
    const { secretId, expiresAt } = right
    return { client, secretId, endsBy: expiresAt === null ? null : new Date(expiresAt) }
  }

  /** The last step uses the assertion up, so a wrong one uses up nothing. */
  async function byAssertion(
    client: RegisteredOauthClient | undefined,
    assertion: string,
  ): Promise<AuthenticatedClient | undefined> {
    if (client?.authMethod !== 'private_key_jwt') return undefined
    const verified = await verifyAssertion(assertion, { client, audience, keys: clientKeys, now: now() })
    if (verified === undefined) return undefined
    const { jti, until } = verified
    const isFirst = await vault.useOnce(`client assertion\0${client.clientId}\0${jti}`, { until, now: now() })
    return isFirst ? { client, secretId: null, endsBy: null } : undefined
  }
}
