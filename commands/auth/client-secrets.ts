import { isRegistered, type OauthClientState } from '../../streams/oauth-client/aggregate.ts'
import type { OauthClientEvent } from '../../streams/oauth-client/events.ts'
import { refused, repeated, type Decision } from '../../engine/commands/decision.ts'
import { administered, isRefused, type Administration } from './client-rules.ts'

type ClientRefusal = 'not-found' | 'client-read-only' | 'precondition-failed'

export interface AddSecret extends Administration {
  /** The key of the request fixes it. */
  readonly secretId: string
  readonly hash: string
  readonly expiresAt: Date | null
  readonly fingerprint: string | null
  readonly now: Date
}

/** Enough to replace one without a break. An expired secret counts until it is removed. */
const mostSecrets = 2

export function addSecret(
  command: AddSecret,
  state: OauthClientState,
): Decision<
  OauthClientEvent,
  | ClientRefusal
  | 'client-secret-limit'
  | 'secret-removed'
  | 'expires-in-past'
  | 'authentication-method-fixed'
  | 'idempotency-key-reused'
> {
  const own = administered(command, state)
  if (isRefused(own)) return own
  const { secretId, hash, fingerprint, now } = command
  const existing = own.secrets.find((secret) => secret.secretId === secretId)
  if (existing !== undefined) return repeated(command, existing)
  if (own.removedSecrets.has(secretId)) return refused('secret-removed')
  if (own.authMethod !== 'client_secret') return refused('authentication-method-fixed')
  if (command.expiresAt !== null && command.expiresAt.getTime() <= now.getTime()) return refused('expires-in-past')
  if (own.secrets.length >= mostSecrets) return refused('client-secret-limit')
  const expiresAt = command.expiresAt?.toISOString() ?? null
  const data = { clientId: own.clientId, secretId, hash, expiresAt, addedAt: now.toISOString(), fingerprint }
  return [{ type: 'OauthClientSecretAdded', data }]
}

/** Tokens that were issued with the secret end. A client keeps one secret at least: disable or delete it instead. */
export function removeSecret(
  command: Administration & { readonly secretId: string; readonly now: Date },
  state: OauthClientState,
): Decision<OauthClientEvent, ClientRefusal | 'last-secret'> {
  const own = administered(command, state)
  if (isRefused(own)) return own
  const { secretId, now } = command
  if (!own.secrets.some((secret) => secret.secretId === secretId)) return refused('not-found')
  if (own.secrets.length === 1) return refused('last-secret')
  return [
    { type: 'OauthClientSecretRemoved', data: { clientId: own.clientId, secretId, removedAt: now.toISOString() } },
  ]
}

const hourMs = 3_600_000

/** At most one event an hour for each secret: a client may request many tokens. */
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
