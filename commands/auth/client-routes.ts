import { randomBytes } from 'node:crypto'
import { v4 } from 'uuid'
import {
  OauthClientRecord,
  OauthClientSecretRecord,
  toOauthClientRecord,
  toOauthClientSecretRecord,
} from '../../contracts/auth/client.ts'
import { invalidMember, problem } from '../../platform/http/problems.ts'
import { admittedRevisions } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { oauthClientsProjector } from '../../projections/auth/oauth-clients.projector.ts'
import { isRegistered, oauthClients, type OauthClientState } from '../../streams/oauth-client/aggregate.ts'
import { oauthScopes } from '../../streams/oauth-scope/aggregate.ts'
import { changed, created, deleted } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { AddClientSecretBody, ChangeClientBody, keyCheck, RegisterClientBody } from './bodies.ts'
import { changeClient, deleteClient } from './change-client.ts'
import { needsPlatform } from './client-rules.ts'
import { addSecret, removeSecret } from './client-secrets.ts'
import { registerClient } from './register-client.ts'
import { builtInScopes, isCovered } from './scopes.ts'

const usual = {
  access: { admin: 'auth:admin', orScope: 'auth:admin' },
  tenancy: 'optional',
  readBy: [oauthClientsProjector],
} as const

const wrongScopes = {
  'unknown-scope': { code: 'unknown-scope', member: 'scopes', detail: 'names a scope that is not registered' },
  'scope-of-platform-clients': {
    code: 'validation-failed',
    member: 'scopes',
    detail: 'names a scope that only clients without an organisation have',
    rule: 'platform-client-scope',
  },
} as const
const goneForKey = {
  code: 'idempotency-key-reused',
  detail: 'What this key created was removed. Use a fresh key.',
} as const

/** Clients and their secrets, for administrators. A secret is shown once; the stream has its HMAC. */
export function authAdminRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store, vault } = deps
  const keysOf = keyCheck(deps.configuration)

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/clients',
    operationId: 'registerOauthClient',
    summary: 'Register a client',
    description:
      'Without `jwks` and `jwks_uri` the client gets a secret, which only this answer contains. Without `org_id` the client is of the caller’s organisation; a platform caller then registers a platform client. Only platform clients have `operations:read`, `operations:write`, `users:admin` and `users:permissions`.',
    body: RegisterClientBody,
    hasEtag: true,
    reply: created(OauthClientRecord, (record) => `/clients/${record.client_id}`),
    problems: ['grant-not-permitted'],
    refusals: { 'client-deleted': goneForKey, ...wrongScopes },
    handle: async ({ tenant, isPlatformWide, body, keyed, now, run }) => {
      const { jwks = null, jwksUri = null } = keysOf(body)
      if (body.org_id === null && tenant !== null && isPlatformWide)
        throw invalidMember('/org_id', 'must not differ from the organisation that the request names', 'ambiguous')
      const orgId = body.org_id === null ? null : tenant
      const { name, scopes, product_id: productId = null, trusted_actor_context: trustedActorContext = false } = body
      if (!isPlatformWide && needsPlatform({ orgId, scopes, trustedActorContext })) throw problem('grant-not-permitted')
      const authMethod = jwks === null && jwksUri === null ? 'client_secret' : 'private_key_jwt'
      const clientSecret = newSecret()
      const secret =
        authMethod === 'client_secret'
          ? { secretId: v4(), hash: vault.fingerprint(clientSecret), expiresAt: null }
          : null
      const described = { name, productId, trustedActorContext, scopes, jwks, jwksUri }
      const ids = { clientId: keyed.id, orgId, fingerprint: keyed.fingerprint }
      const command = { ...described, ...ids, authMethod, secret, now } as const
      const unknown = await unknownScopes(scopes)
      const done = await run({ ...oauthClients.of(keyed.id), isNew: true }, (state) =>
        unknown.length > 0 && state.status === 'absent' ? { refused: 'unknown-scope' } : registerClient(command, state),
      )
      const isShown = done.events.length > 0 && secret !== null
      return { ...done, ...recordOf(done.state, isShown ? clientSecret : undefined) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'PATCH',
    path: '/clients/:id',
    operationId: 'changeOauthClient',
    summary: 'Change a client, or disable and enable it',
    description:
      'Members that are left out stay as they are. A removed scope, another product, the end of `trusted_actor_context` and disabling end all tokens that the client has.',
    body: ChangeClientBody,
    hasEtag: true,
    ifMatch: 'record',
    reply: changed(OauthClientRecord),
    problems: ['client-read-only', 'grant-not-permitted', 'authentication-method-fixed'],
    refusals: wrongScopes,
    handle: async ({ tenant, isPlatformWide, params, body, now, run, request }) => {
      const { name, scopes, product_id: productId, status, trusted_actor_context: trustedActorContext } = body
      const { jwks, jwksUri } = keysOf(body)
      const administration = { tenant, isPlatformWide, admitted: admittedRevisions(request) }
      const described = { name, scopes, productId, status, trustedActorContext, jwks, jwksUri }
      const command = { ...administration, ...described, unknownScopes: await unknownScopes(scopes ?? []), now }
      const done = await run(oauthClients.of(params.id), (state) => changeClient(command, state))
      return { ...done, ...recordOf(done.state) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'DELETE',
    path: '/clients/:id',
    operationId: 'deleteOauthClient',
    summary: 'Delete a client',
    description: 'Its tokens end, and its id is never used again.',
    ifMatch: 'record',
    reply: deleted,
    problems: ['client-read-only'],
    handle: async ({ tenant, isPlatformWide, params, now, run, request }) => {
      const command = { tenant, isPlatformWide, admitted: admittedRevisions(request), now }
      const done = await run(oauthClients.of(params.id), (state) => deleteClient(command, state))
      return { ...done, record: null }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/clients/:id/secrets',
    operationId: 'addOauthClientSecret',
    summary: 'Add a second secret to a client',
    description: 'Only this answer contains the secret. Both secrets work until one is removed or expires.',
    body: AddClientSecretBody,
    mayLackBody: true,
    reply: created(OauthClientSecretRecord, (_, { id }: { readonly id: string }) => `/clients/${id}`),
    problems: ['client-read-only', 'client-secret-limit', 'authentication-method-fixed'],
    refusals: {
      'secret-removed': goneForKey,
      'expires-in-past': {
        code: 'validation-failed',
        member: 'expires_at',
        detail: 'must be in the future',
        rule: 'in-the-past',
      },
    },
    handle: async ({ tenant, isPlatformWide, params, body, keyed, now, run }) => {
      const clientSecret = newSecret()
      const expiresAt = body.expires_at === undefined || body.expires_at === null ? null : new Date(body.expires_at)
      const ids = { secretId: keyed.id, hash: vault.fingerprint(clientSecret), fingerprint: keyed.fingerprint }
      const command = { tenant, isPlatformWide, admitted: undefined, ...ids, expiresAt, now }
      const done = await run(oauthClients.of(params.id), (state) => addSecret(command, state))
      const secrets = isRegistered(done.state) ? done.state.secrets : []
      const own = secrets.find(({ secretId }) => secretId === ids.secretId)
      if (own === undefined) throw problem('internal-error')
      const isNew = done.events.length > 0
      return { ...done, record: toOauthClientSecretRecord(own, isNew ? clientSecret : undefined) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'DELETE',
    path: '/clients/:id/secrets/:secretId',
    operationId: 'removeOauthClientSecret',
    summary: 'Remove a secret of a client',
    description: 'Tokens that were issued with it end. The last secret of a client stays.',
    ifMatch: 'record',
    reply: deleted,
    problems: ['client-read-only', 'last-secret'],
    handle: async ({ tenant, isPlatformWide, params, now, run, request }) => {
      const administration = { tenant, isPlatformWide, admitted: admittedRevisions(request) }
      const command = { ...administration, secretId: params.secretId, now }
      const done = await run(oauthClients.of(params.id), (state) => removeSecret(command, state))
      return { ...done, record: null }
    },
  })

  /** A star of the registry may be granted in part. A scope is never taken out of the registry. */
  async function unknownScopes(scopes: readonly string[]): Promise<readonly string[]> {
    if (scopes.every((scope) => isCovered(scope, builtInScopes.keys()))) return []
    const { state } = await store.load(oauthScopes.of())
    const known = [...builtInScopes.keys(), ...state.scopes.keys()]
    return scopes.filter((scope) => !isCovered(scope, known))
  }
}

/** 256 random bits. */
function newSecret(): string {
  return randomBytes(32).toString('base64url')
}

function recordOf(state: OauthClientState, clientSecret?: string) {
  if (!isRegistered(state)) throw problem('internal-error')
  return { record: toOauthClientRecord(state, clientSecret), revision: BigInt(state.revision) }
}
