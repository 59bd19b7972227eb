import type { VerifiedToken } from '../../platform/http/tokens.ts'
import { isRegistered, isRevoked, type OauthClientState } from '../../streams/oauth-client/aggregate.ts'
import type { OauthClientEvent } from '../../streams/oauth-client/events.ts'
import type { Decision } from '../../engine/commands/decision.ts'

/** Ends one token. Ends nothing twice, so a client that repeats its request adds nothing to its stream. */
export function revokeToken(
  { token, now }: { readonly token: VerifiedToken; readonly now: Date },
  state: OauthClientState,
): Decision<OauthClientEvent> {
  if (!isRegistered(state) || hasEnded(token, state)) return []
  const { clientId, tokenId: jti } = token
  const expiresAt = new Date(token.expiresAt * 1000).toISOString()
  return [{ type: 'OauthTokenRevoked', data: { clientId, jti, expiresAt, revokedAt: now.toISOString() } }]
}

/** Whether a valid token ended before its time, by the stream of its client. */
export function hasEnded(token: VerifiedToken, state: OauthClientState): boolean {
  if (!isRegistered(state)) return true
  const { secretId } = token
  return (
    token.clientRevision < state.tokensValidFrom ||
    (secretId !== null && state.removedSecrets.has(secretId)) ||
    isRevoked(state, token.tokenId)
  )
}
