import type { OauthClientEvent } from '../../streams/oauth-client/events.ts'
import type { OauthClientState } from '../../streams/oauth-client/aggregate.ts'
import type { Decision } from '../handling/decision.ts'

type Registered = Extract<OauthClientEvent, { type: 'OauthClientRegistered' }>['data']

export interface RegisterClient extends Omit<Registered, 'registeredAt' | 'scopes'> {
  readonly scopes: readonly string[]
  readonly now: Date
}

/** The start of a platform registers its first clients; started again, they are there. */
export function registerClient(command: RegisterClient, state: OauthClientState): Decision<OauthClientEvent> {
  if (state.status === 'registered') return []
  const { now, scopes, ...data } = command
  return [{ type: 'OauthClientRegistered', data: { ...data, scopes: [...scopes], registeredAt: now.toISOString() } }]
}

export interface GrantScopes {
  readonly clientId: string
  readonly orgId: string | null
  readonly secretHash: string
  /** All that the client should have; it keeps what it has beyond them. */
  readonly scopes: readonly string[]
  readonly now: Date
}

/**
 * Gives a registered client the scopes that it lacks: a newer platform may need more of itself than the one that
 * registered its client. Only the same client is given any, which its secret and its organisation tell.
 */
export function grantScopes(command: GrantScopes, state: OauthClientState): Decision<OauthClientEvent> {
  const { clientId, orgId, secretHash, now } = command
  if (state.status === 'absent' || state.orgId !== orgId || state.secretHash !== secretHash) return []
  const scopes = command.scopes.filter((scope) => !state.scopes.includes(scope))
  if (scopes.length === 0) return []
  return [{ type: 'OauthClientScopesGranted', data: { clientId, scopes, grantedAt: now.toISOString() } }]
}
