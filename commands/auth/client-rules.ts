import {
  isRegistered,
  type OauthClientState,
  type RegisteredOauthClient,
} from '../../streams/oauth-client/aggregate.ts'
import { withIncluded } from '../../platform/http/tokens.ts'
import { refused, type Refusal } from '../../engine/commands/decision.ts'
import { isPlatformScope } from './scopes.ts'

/** Who administers a client, and which version of it. */
export interface Administration {
  /** Only the clients of this organisation; null: all of them. */
  readonly tenant: string | null
  readonly isPlatformWide: boolean
  /** Revisions that If-Match names. */
  readonly admitted: readonly bigint[] | undefined
}

/** Whether only platform callers may grant this. */
export function needsPlatform(granted: {
  readonly orgId: string | null
  readonly scopes: readonly string[]
  readonly trustedActorContext: boolean
}): boolean {
  const includesPlatformScope = granted.scopes.flatMap(withIncluded).some(isPlatformScope)
  return granted.orgId === null || granted.trustedActorContext || includesPlatformScope
}

/** Clients of other organisations count as absent. A client with more than the caller may grant is read-only. */
export function administered(
  { tenant, isPlatformWide, admitted }: Administration,
  state: OauthClientState,
): RegisteredOauthClient | Refusal<'not-found' | 'client-read-only' | 'precondition-failed'> {
  if (!isRegistered(state) || (tenant !== null && state.orgId !== tenant)) return refused('not-found')
  if (!isPlatformWide && needsPlatform(state)) return refused('client-read-only')
  if (admitted !== undefined && !admitted.includes(BigInt(state.revision))) return refused('precondition-failed')
  return state
}

export function isRefused<Given extends Refusal>(found: RegisteredOauthClient | Given): found is Given {
  return 'refused' in found
}
