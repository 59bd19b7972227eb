import type { OauthClientEvent } from '../../streams/oauth-client/events.ts'
import type { OauthClientState } from '../../streams/oauth-client/aggregate.ts'
import type { Decision } from '../handling/decision.ts'

type Registered = Extract<OauthClientEvent, { type: 'OauthClientRegistered' }>['data']

export interface RegisterClient extends Omit<Registered, 'registeredAt' | 'scopes'> {
  readonly scopes: readonly string[]
  readonly now: Date
}

/** The first start of a platform registers its first clients. Later starts change nothing. */
export function registerClient(command: RegisterClient, state: OauthClientState): Decision<OauthClientEvent> {
  if (state.status === 'registered') return []
  const { now, scopes, ...data } = command
  return [{ type: 'OauthClientRegistered', data: { ...data, scopes: [...scopes], registeredAt: now.toISOString() } }]
}

export interface GrantScopes {
  readonly clientId: string
  readonly orgId: string | null
  readonly secretHash: string
  /** The scopes that the client must have. It keeps any other scopes. */
  readonly scopes: readonly string[]
  readonly now: Date
}

/**
 * Grants a registered client the scopes that it lacks. A newer version of the platform may need more scopes than the
 * version that registered the client. The client must match by organisation and secret.
 */
export function grantScopes(command: GrantScopes, state: OauthClientState): Decision<OauthClientEvent> {
  const { clientId, orgId, secretHash, now } = command
  if (state.status === 'absent' || state.orgId !== orgId || state.secretHash !== secretHash) return []
  const scopes = command.scopes.filter((scope) => !state.scopes.includes(scope))
  if (scopes.length === 0) return []
  return [{ type: 'OauthClientScopesGranted', data: { clientId, scopes, grantedAt: now.toISOString() } }]
}
