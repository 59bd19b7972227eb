import {
  isRegistered,
  type OauthClientState,
  type RegisteredOauthClient,
} from '../../streams/oauth-client/aggregate.ts'
import type { OauthClientEvent } from '../../streams/oauth-client/events.ts'
import type { Decision } from '../handling/decision.ts'

/** The members of a client that an administrator may change. */
export function descriptionOf({
  name,
  productId,
  trustedActorContext,
  scopes,
  jwks,
  jwksUri,
}: Pick<RegisteredOauthClient, 'name' | 'productId' | 'trustedActorContext' | 'scopes' | 'jwks' | 'jwksUri'>) {
  return { name, productId, trustedActorContext, scopes, jwks, jwksUri }
}

const hourMs = 3_600_000

/** At most one event an hour for each secret: a client may ask for many tokens. */
export function useSecret(
  { secretId, now }: { readonly secretId: string; readonly now: Date },
  state: OauthClientState,
): Decision<OauthClientEvent> {
  const secret = isRegistered(state) ? state.secrets.find((each) => each.secretId === secretId) : undefined
  if (!isRegistered(state) || secret === undefined) return []
  const { lastUsedAt } = secret
  if (lastUsedAt !== null && now.getTime() - Date.parse(lastUsedAt) < hourMs) return []
  return [{ type: 'OauthClientSecretUsed', data: { clientId: state.clientId, secretId, usedAt: now.toISOString() } }]
}
