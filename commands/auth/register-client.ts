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
