import * as oidc from 'openid-client'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { Problem, problem } from '../../platform/http/problems.ts'
import type { Egress, EgressRequest } from '../../platform/outbound/egress.ts'
import { EgressError } from '../../platform/outbound/egress-error.ts'

const timeoutMs = 5_000
const maxBytes = 256 * 1024
const retryAfterSeconds = 5
/** A working provider is asked again after this time, however many sign-ins begin. */
const reachableMs = 5_000
/** Signatures with a public key. The header of a token never chooses another kind. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

/** Kept in the browser between the two requests of a sign-in, sealed. */
export interface SignInChecks {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** The sign-in at Keycloak: authorization code with PKCE. Its addresses follow from the realm, so none is asked for. */
export function createIdentity(egress: Egress, configuration: Configuration, redirectUri: string) {
  const { keycloakBaseUrl = '', keycloakRealm = '', keycloakClientId = '', keycloakClientSecret = '' } = configuration
  const issuer = `${keycloakBaseUrl}/realms/${encodeURIComponent(keycloakRealm)}`
  const endpoint = (name: string) => `${issuer}/protocol/openid-connect/${name}`
  const client = new oidc.Configuration(
    {
      issuer,
      authorization_endpoint: endpoint('auth'),
      token_endpoint: endpoint('token'),
      jwks_uri: endpoint('certs'),
      end_session_endpoint: endpoint('logout'),
      id_token_signing_alg_values_supported: algorithms,
    },
    keycloakClientId,
    {},
    oidc.ClientSecretPost(keycloakClientSecret),
  )
  client[oidc.customFetch] = (url, { method, headers, body, signal }) =>
    call(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      body: body instanceof URLSearchParams ? body.toString() : null,
      ...(signal === undefined ? {} : { signal }),
    })
  // The rules of the profile decide about addresses without TLS.
  oidc.allowInsecureRequests(client)
  // Otherwise the connection alone proves where an ID token comes from.
  oidc.enableNonRepudiationChecks(client)

  /** @throws Problem `identity-provider-unavailable` */
  async function call(url: string, request: Partial<EgressRequest> = {}): Promise<Response> {
    try {
      const { status, headers, ...answer } = await egress.request(url, {
        ...request,
        purpose: 'identity',
        timeoutMs,
        maxBytes,
      })
      const text = await answer.text()
      if (status >= 500) throw problem('identity-provider-unavailable', { retryAfterSeconds })
      const type = headers['content-type']
      return new Response(text, { status, headers: typeof type === 'string' ? { 'content-type': type } : {} })
    } catch (error) {
      if (error instanceof EgressError) throw problem('identity-provider-unavailable', { retryAfterSeconds })
      throw error
    }
  }

  let reachableUntil = Number.NEGATIVE_INFINITY

  return {
    newChecks: (): SignInChecks => ({
      state: oidc.randomState(),
      nonce: oidc.randomNonce(),
      verifier: oidc.randomPKCECodeVerifier(),
    }),

    /** @throws Problem `identity-provider-unavailable` */
    async signInAddress({ state, nonce, verifier }: SignInChecks): Promise<string> {
      if (performance.now() > reachableUntil) {
        await call(endpoint('certs'))
        reachableUntil = performance.now() + reachableMs
      }
      return oidc.buildAuthorizationUrl(client, {
        redirect_uri: redirectUri,
        scope: 'openid',
        state,
        nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }).href
    },

    /**
     * Returns the account of a callback; undefined if anything about it is wrong.
     * @throws Problem `identity-provider-unavailable`
     */
    async accountOf(
      callback: URL,
      { state, nonce, verifier }: SignInChecks,
    ): Promise<{ readonly externalId: string; readonly idToken: string | undefined } | undefined> {
      try {
        const tokens = await oidc.authorizationCodeGrant(client, callback, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        })
        const externalId = tokens.claims()?.sub
        return externalId === undefined ? undefined : { externalId, idToken: tokens.id_token }
      } catch (error) {
        const away = causesOf(error).find((cause) => cause instanceof Problem)
        if (away !== undefined) throw away
        if (isRefusal(error)) return undefined
        throw error
      }
    },

    signOutAddress(idToken: string | undefined, target: string): string {
      return oidc.buildEndSessionUrl(client, {
        post_logout_redirect_uri: target,
        ...(idToken === undefined ? {} : { id_token_hint: idToken }),
      }).href
    },
  }
}
export type Identity = ReturnType<typeof createIdentity>

/** A wrong callback, or a wrong answer of the provider. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof oidc.ResponseBodyError ||
    error instanceof oidc.AuthorizationResponseError ||
    error instanceof oidc.WWWAuthenticateChallengeError ||
    error instanceof oidc.ClientError
  )
}

function causesOf(error: unknown): readonly unknown[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : []
}
