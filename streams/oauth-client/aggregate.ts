import { defineAggregate } from '../../engine/aggregates/aggregate.ts'
import { GrowingMap } from '../../engine/aggregates/growing-map.ts'
import { oauthClientEvents, type OauthClientEvent } from './events.ts'
import type { DataOf } from '../../engine/store/events.ts'

type Registered = DataOf<OauthClientEvent, 'OauthClientRegistered'>

export interface OauthClientSecret {
  readonly secretId: string
  /** HMAC of the secret with the vault's pepper. */
  readonly hash: string
  readonly createdAt: string
  /** Null: valid until it is removed. */
  readonly expiresAt: string | null
  readonly lastUsedAt: string | null
  readonly fingerprint: string | null
}

/** Revoked tokens by their `jti`, and when the last of them ends anyway. */
interface Revocations {
  readonly tokens: GrowingMap<true>
  readonly until: string
}

export interface RegisteredOauthClient extends Omit<Registered, 'secret'> {
  readonly status: 'active' | 'disabled'
  /** Two at most, the oldest first. Includes expired ones. */
  readonly secrets: readonly OauthClientSecret[]
  /** Fingerprints of removed secrets, by id. A repeat of their key adds nothing. */
  readonly removedSecrets: GrowingMap<string | null>
  readonly updatedAt: string
  /** Number of events so far. The stream is never truncated, so the next event has this revision. */
  readonly applied: number
  /** Revision of the record's last change, for its ETag. Uses of secrets and revocations do not count. */
  readonly revision: number
  /** A token that was issued from a state before this revision has ended. */
  readonly tokensValidFrom: number
  /** Newer revocations first. The older ones are dropped when all of their tokens have ended. */
  readonly revocations: readonly [Revocations, Revocations]
}

export type OauthClientState =
  | { readonly status: 'absent' }
  | RegisteredOauthClient
  | { readonly status: 'deleted'; readonly clientId: string; readonly orgId: string | null }

export function isRegistered(state: OauthClientState): state is RegisteredOauthClient {
  return state.status === 'active' || state.status === 'disabled'
}

export function isRevoked({ revocations }: Pick<RegisteredOauthClient, 'revocations'>, jti: string): boolean {
  return revocations.some(({ tokens }) => tokens.has(jti))
}

function evolve(state: OauthClientState, event: OauthClientEvent): OauthClientState {
  if (event.type === 'OauthClientRegistered') return registered(event.data)
  if (!isRegistered(state)) return state
  if (event.type === 'OauthClientDeleted') {
    const { clientId, orgId } = state
    return { status: 'deleted', clientId, orgId }
  }
  return { ...state, ...changes(state, event), applied: state.applied + 1 }
}

function registered({ secret, ...data }: Registered): RegisteredOauthClient {
  const none: Revocations = { tokens: new GrowingMap(), until: data.registeredAt }
  const created = { createdAt: data.registeredAt, fingerprint: null, lastUsedAt: null }
  return {
    ...data,
    status: 'active',
    secrets: secret === null ? [] : [{ ...secret, ...created }],
    removedSecrets: new GrowingMap(),
    updatedAt: data.registeredAt,
    applied: 1,
    revision: 0,
    tokensValidFrom: 0,
    revocations: [none, none],
  }
}

type Change = Exclude<OauthClientEvent, { type: 'OauthClientRegistered' | 'OauthClientDeleted' }>

function changes(state: RegisteredOauthClient, event: Change): Partial<RegisteredOauthClient> {
  const at = (updatedAt: string) => ({ updatedAt, revision: state.applied })
  switch (event.type) {
    case 'OauthClientChanged': {
      const { changedAt, ...described } = event.data
      return { ...described, ...at(changedAt) }
    }
    case 'OauthClientNarrowed':
      return { ...at(event.data.narrowedAt), tokensValidFrom: state.applied }
    case 'OauthClientDisabled':
      return { ...at(event.data.disabledAt), status: 'disabled', tokensValidFrom: state.applied }
    case 'OauthClientEnabled':
      return { ...at(event.data.enabledAt), status: 'active' }
    case 'OauthClientSecretAdded': {
      const { addedAt: createdAt, clientId: _, ...secret } = event.data
      return { ...at(createdAt), secrets: [...state.secrets, { ...secret, createdAt, lastUsedAt: null }] }
    }
    case 'OauthClientSecretRemoved': {
      const { secretId, removedAt } = event.data
      const fingerprint = state.secrets.find((secret) => secret.secretId === secretId)?.fingerprint ?? null
      return {
        ...at(removedAt),
        secrets: state.secrets.filter((secret) => secret.secretId !== secretId),
        removedSecrets: state.removedSecrets.with(secretId, fingerprint),
      }
    }
    case 'OauthClientSecretUsed': {
      const { secretId, usedAt } = event.data
      const used = (secret: OauthClientSecret) =>
        secret.secretId === secretId ? { ...secret, lastUsedAt: usedAt } : secret
      return { secrets: state.secrets.map(used) }
    }
    case 'OauthTokenRevoked':
      return { revocations: withRevoked(state.revocations, event.data) }
  }
}

/** A server whose clock was ahead by less than this drops no revocation of a token that is still valid, in milliseconds. */
const clockGapMs = 86_400_000

/** Keeps the revocations of about two lifetimes of a token and two days, however many there were before. */
function withRevoked(
  [newer, older]: RegisteredOauthClient['revocations'],
  { jti, expiresAt, revokedAt }: DataOf<OauthClientEvent, 'OauthTokenRevoked'>,
): RegisteredOauthClient['revocations'] {
  const [last, rest]: RegisteredOauthClient['revocations'] =
    Date.parse(older.until) + clockGapMs < Date.parse(revokedAt)
      ? [{ tokens: new GrowingMap(), until: revokedAt }, newer]
      : [newer, older]
  const until = expiresAt > last.until ? expiresAt : last.until
  return [{ tokens: last.tokens.with(jti, true), until }, rest]
}

/** No organisation owns a client's stream: a platform client has no organisation. */
export const oauthClients = defineAggregate({
  category: 'oauth_client',
  id: (clientId: string) => clientId,
  events: oauthClientEvents,
  initialState: { status: 'absent' },
  evolve,
})

/** The secrets that authenticate at an instant. All instants are UTC with milliseconds, so text comparison is enough. */
export function liveSecrets(
  { secrets }: Pick<RegisteredOauthClient, 'secrets'>,
  at: Date,
): readonly OauthClientSecret[] {
  const instant = at.toISOString()
  return secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > instant)
}
