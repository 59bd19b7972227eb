import { randomUUID } from 'node:crypto'
import type { LightMyRequestResponse } from 'fastify'
import { authRoutes } from '../../../commands/auth/routes.ts'
import { createClientKeys } from '../../../commands/auth/client-keys.ts'
import { wellKnownMetadataRoute } from '../../../commands/auth/metadata-routes.ts'
import { followTokenEndings, type FollowedTokenEndings } from '../../../contracts/auth/token-endings.ts'
import type { Environment } from '../../../platform/configuration/configuration.ts'
import { createTokenIssuer, type TokenIssuer } from '../../../platform/http/tokens.ts'
import { createEgress } from '../../../platform/outbound/egress.ts'
import { oauthClients, type RegisteredOauthClient } from '../../../streams/oauth-client/aggregate.ts'
import type { OauthClientEvent } from '../../../streams/oauth-client/events.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { startApplication, thingService, type TestApplication } from '../../platform/http/test-application.ts'
import type { DecisionWorld } from '../../engine/commands/decision-world.ts'

type Form = Readonly<Record<string, string>>
type DataOf<Type extends OauthClientEvent['type']> = Extract<OauthClientEvent, { type: Type }>['data']

/** The token routes of one API process, with an endpoint that takes any token. */
export interface AuthApi {
  readonly t: TestApplication
  readonly issuer: TokenIssuer
  readonly endings: FollowedTokenEndings
  /** Posts a form to a route below `/v1/auth/oauth/`. */
  post(route: 'token' | 'introspect' | 'revoke', form: Form, headers?: Form): ReturnType<typeof answerOf>
  /** A token for a client with this secret. */
  tokenOf(client: TestClient, secret?: string): Promise<string>
  /** Status and code of a request with the token. */
  use(token: string): Promise<readonly [number, string | undefined]>
  close(): Promise<void>
}

export interface TestClient {
  readonly clientId: string
  readonly secretId: string
  readonly secret: string
}

export const baseUrl = 'https://platform.test'

export async function startAuthApi(
  world: DecisionWorld,
  store: EventStore = world.store,
  env: Environment = {},
): Promise<AuthApi> {
  const configuration = { ...world.configuration, baseUrl }
  const endings = followTokenEndings({ store, vault: world.vault, now: world.now })
  const issuer = createTokenIssuer({
    keys: world.vault,
    issuer: `${baseUrl}/v1/auth`,
    audience: baseUrl,
    ttlSeconds: 3600,
    endings,
    now: world.now,
  })
  const egress = createEgress({ configuration })
  const clientKeys = createClientKeys({ egress, configuration, now: world.now })
  const deps = { ...world, store, configuration, tokens: issuer, clientKeys }
  const t = await startApplication({
    env,
    issuer,
    services: [
      thingService,
      {
        prefix: 'auth',
        documentedAt: 'prefixed',
        routes: (app) => authRoutes(app, deps),
        wellKnownRoutes: (app) => wellKnownMetadataRoute(app, deps),
      },
    ],
    checkReplies: true,
  })
  await endings.caughtUp
  const post: AuthApi['post'] = (route, form, headers = {}) =>
    answerOf(
      t.app.inject({
        method: 'POST',
        url: `/v1/auth/oauth/${route}`,
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        payload: new URLSearchParams(form).toString(),
      }),
    )
  return {
    t,
    issuer,
    endings,
    post,
    async tokenOf({ clientId, secret }, given = secret) {
      const { body } = await post('token', { ...grant, client_id: clientId, client_secret: given })
      return String(body['access_token'])
    },
    async use(token) {
      const answer = await t.app.inject({
        url: '/v1/clinical-api/whoami',
        headers: { authorization: `Bearer ${token}` },
      })
      return [answer.statusCode, answer.json<{ code?: string }>().code]
    },
    async close() {
      await t.app.close()
      await Promise.all([endings.close(), egress.close()])
    },
  }
}

export const grant = { grant_type: 'client_credentials' }

async function answerOf(answering: Promise<LightMyRequestResponse>) {
  const { statusCode: status, headers, body: text } = await answering
  const body: Record<string, unknown> = text === '' ? {} : JSON.parse(text)
  return { status, headers, body, text }
}

/** Registers a client with a secret, or with the keys that `registered` names. */
export async function registerTestClient(
  world: DecisionWorld,
  registered: Partial<DataOf<'OauthClientRegistered'>> = {},
): Promise<TestClient> {
  const clientId = randomUUID()
  const [secretId, secret] = [randomUUID(), randomUUID()]
  await append(world, clientId, {
    type: 'OauthClientRegistered',
    data: {
      clientId,
      orgId: world.orgId,
      authMethod: 'client_secret',
      name: 'a client',
      productId: null,
      trustedActorContext: false,
      scopes: ['things:read', 'things:write'],
      jwks: null,
      jwksUri: null,
      secret: { secretId, hash: world.vault.fingerprint(secret), expiresAt: null },
      fingerprint: null,
      registeredAt: world.now().toISOString(),
      ...registered,
    },
  })
  return { clientId, secretId, secret }
}

/** Appends what an administrator's command would append. */
export async function append(world: DecisionWorld, clientId: string, ...events: OauthClientEvent[]): Promise<void> {
  const target = oauthClients.of(clientId)
  const { revision } = await world.store.load(target)
  const commandId = randomUUID()
  await world.store.append(target, revision, events, { commandId, correlationId: commandId, clientId: 'test' })
}

export async function stateOf(world: DecisionWorld, clientId: string): Promise<RegisteredOauthClient> {
  const { state } = await world.store.load(oauthClients.of(clientId))
  if (state.status === 'absent' || state.status === 'deleted') throw new Error(`the client is ${state.status}`)
  return state
}
