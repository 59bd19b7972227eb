import { isRegistered, type OauthClientState } from '../../streams/oauth-client/aggregate.ts'
import type { OauthClientEvent } from '../../streams/oauth-client/events.ts'
import { refused, repeated, type Decision } from '../../engine/commands/decision.ts'
import { descriptionOf } from './change-client.ts'
import { exceedsOrganisation } from './scopes.ts'

type Registered = Extract<OauthClientEvent, { type: 'OauthClientRegistered' }>['data']

export interface RegisterClient extends Omit<Registered, 'registeredAt' | 'scopes'> {
  readonly scopes: readonly string[]
  readonly now: Date
}

/** The key of the request fixes the id, so a repeat meets the client that the first request registered. */
export function registerClient(
  command: RegisterClient,
  state: OauthClientState,
): Decision<OauthClientEvent, 'client-deleted' | 'scope-of-platform-clients' | 'idempotency-key-reused'> {
  if (state.status === 'deleted') return refused('client-deleted')
  if (state.status !== 'absent') return repeated(command, state)
  if (exceedsOrganisation(command.orgId, command.scopes)) return refused('scope-of-platform-clients')
  return [registration(command)]
}

/** The start of a platform registers its first clients. At a later start they exist, whatever state they are in. */
export function registerFirstClient(command: RegisterClient, state: OauthClientState): Decision<OauthClientEvent> {
  return state.status === 'absent' ? [registration(command)] : []
}

function registration({ now, scopes, ...data }: RegisterClient): OauthClientEvent {
  const sorted = [...new Set(scopes)].toSorted()
  return { type: 'OauthClientRegistered', data: { ...data, scopes: sorted, registeredAt: now.toISOString() } }
}

export interface GrantScopes {
  readonly clientId: string
  readonly orgId: string | null
  readonly secretHash: string
  /** All scopes that the client should have. It keeps its other scopes. */
  readonly scopes: readonly string[]
  readonly now: Date
}

/**
 * Adds missing scopes to a registered client: a newer version of the platform may need more scopes than the version
 * that registered its client. Grants nothing if the client belongs to another organisation or has another secret.
 */
export function grantScopes(command: GrantScopes, state: OauthClientState): Decision<OauthClientEvent> {
  const { clientId, orgId, secretHash, now } = command
  if (!isRegistered(state) || state.orgId !== orgId) return []
  if (!state.secrets.some(({ hash }) => hash === secretHash)) return []
  const missing = command.scopes.filter((scope) => !state.scopes.includes(scope))
  if (missing.length === 0) return []
  const scopes = [...state.scopes, ...missing].toSorted()
  return [
    { type: 'OauthClientChanged', data: { ...descriptionOf(state), clientId, scopes, changedAt: now.toISOString() } },
  ]
}
