import type { OauthScopesState } from '../../streams/oauth-scope/aggregate.ts'
import type { OauthScopeEvent } from '../../streams/oauth-scope/events.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import { builtInScopes, builtInService } from './scopes.ts'

export interface RegisterScopes {
  readonly serviceId: string
  readonly scopes: readonly { readonly scope: string; readonly description: string }[]
  readonly now: Date
}

/** A scope belongs to the service that registered it first. That service may describe it anew. */
export function registerScopes(
  { serviceId, scopes, now }: RegisterScopes,
  state: OauthScopesState,
): Decision<OauthScopeEvent, 'scope-owned-by-other-service'> {
  const isForeign = scopes.some(({ scope }) => {
    const owner = builtInScopes.has(scope) ? builtInService : (state.scopes.get(scope)?.serviceId ?? serviceId)
    return owner !== serviceId
  })
  if (isForeign) return refused('scope-owned-by-other-service')
  const { created, updated } = sortedOut(scopes, state)
  const changed = scopes.filter(({ scope }) => created.includes(scope) || updated.includes(scope))
  if (changed.length === 0) return []
  return [{ type: 'OauthScopesRegistered', data: { serviceId, scopes: [...changed], registeredAt: now.toISOString() } }]
}

/** What a registration does to each scope. */
export function sortedOut(scopes: RegisterScopes['scopes'], { scopes: known }: OauthScopesState) {
  const namesOf = (isMeant: (before: string | undefined, after: string) => boolean) =>
    scopes
      .filter(({ scope, description }) => isMeant(known.get(scope)?.description, description))
      .map(({ scope }) => scope)
  return {
    created: namesOf((before) => before === undefined),
    updated: namesOf((before, after) => before !== undefined && before !== after),
    unchanged: namesOf((before, after) => before === after),
  }
}
