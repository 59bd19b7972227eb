import { defineAggregate } from '../../engine/aggregates/aggregate.ts'
import { oauthScopeEvents, type OauthScopeEvent } from './events.ts'

export interface RegisteredScope {
  readonly serviceId: string
  readonly description: string
}

export interface OauthScopesState {
  readonly scopes: ReadonlyMap<string, RegisteredScope>
}

function evolve({ scopes }: OauthScopesState, { data }: OauthScopeEvent): OauthScopesState {
  const { serviceId } = data
  const changed = data.scopes.map(({ scope, description }) => [scope, { serviceId, description }] as const)
  return { scopes: new Map([...scopes, ...changed]) }
}

/** One stream for the installation: it decides which service a scope belongs to. */
export const oauthScopes = defineAggregate({
  category: 'oauth_scope',
  id: () => 'platform',
  events: oauthScopeEvents,
  initialState: { scopes: new Map() },
  evolve,
})
