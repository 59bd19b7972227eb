import type { TokenEndings, VerifiedToken } from '../../platform/http/tokens.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import { oauthClients } from '../../streams/oauth-client/aggregate.ts'
import type { OauthClientEvent } from '../../streams/oauth-client/events.ts'
import { tokenKeys } from '../../streams/token-key/aggregate.ts'
import type { TokenKeyEvent } from '../../streams/token-key/events.ts'
import { EventStoreUnavailableError } from '../../engine/store/errors.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'

export interface TokenEndingsOptions {
  readonly store: Pick<EventStore, 'subscribeToAll'>
  readonly now: () => Date
  /** Learns of keys that must sign no more. */
  readonly vault: Pick<Vault, 'endSigningKey'>
  readonly logger?: Logger
  /** Milliseconds of a monotonic clock. */
  readonly clockMs?: () => number
}

export interface FollowedTokenEndings extends TokenEndings {
  /** Whether tokens can be verified: everything was read once, and the event store was heard a moment ago. */
  isCurrent(): boolean
  /** Resolves when everything was read once. Rejects if the event store refuses the subscription. */
  readonly caughtUp: Promise<void>
  close(): Promise<void>
}

/** So long tokens are verified without hearing from the event store, in milliseconds. Reconnecting takes less. */
const longestDeafnessMs = 10_000
const lookMs = 1_000

/** What ended tokens of one client. */
interface ClientEndings {
  /** Tokens from before this revision of the client's stream have ended. */
  validFrom: number
  readonly removedSecrets: Set<string>
}

/**
 * Follows all clients and ended keys, and keeps in memory what ends tokens early. Costs a token a few look-ups, whatever was revoked.
 * Revoked tokens are kept until a day after they would have ended anyway.
 */
export function followTokenEndings({
  store,
  vault,
  now,
  logger,
  clockMs = () => performance.now(),
}: TokenEndingsOptions): FollowedTokenEndings {
  const clients = new Map<string, ClientEndings>()
  const revoked = createRevokedTokens(now)
  const endedKeys = new Set<string>()
  const closing = new AbortController()
  const firstCatchUp = Promise.withResolvers<void>()
  let hasCaughtUp = false
  let heardAt = Number.NEGATIVE_INFINITY

  const subscription = store.subscribeToAll({
    name: 'ended tokens',
    filter: { streamPrefixes: [`${oauthClients.category}-`, `${tokenKeys.category}-`] },
    from: 'start',
    signal: closing.signal,
    onBatch: (events) => events.forEach(take),
    onCaughtUp: () => {
      hasCaughtUp = true
      listen()
      firstCatchUp.resolve()
    },
    // The unreadable event may have ended any token of its client or key, so it ends all of them.
    onUndecodable: ({ id, stream }) => {
      logger?.error({ component: 'tokens', eventId: id }, 'unreadable event of a client or key: its tokens are refused')
      const idInStream = stream.slice(stream.indexOf('-') + 1)
      if (stream.startsWith(`${tokenKeys.category}-`)) endKey(idInStream)
      else endingsOf(idInStream).validFrom = Number.POSITIVE_INFINITY
    },
    onError: (error) => firstCatchUp.reject(error),
  })
  firstCatchUp.promise.catch(() => undefined)
  const looking = setInterval(listen, lookMs).unref()

  function listen(): void {
    const { connected, caughtUp } = subscription.stats()
    if (connected && caughtUp) heardAt = clockMs()
  }

  function isCurrent(): boolean {
    return hasCaughtUp && clockMs() - heardAt <= longestDeafnessMs
  }

  function endingsOf(clientId: string): ClientEndings {
    const known = clients.get(clientId)
    if (known !== undefined) return known
    const added: ClientEndings = { validFrom: 0, removedSecrets: new Set() }
    clients.set(clientId, added)
    return added
  }

  function endKey(kid: string): void {
    endedKeys.add(kid)
    vault.endSigningKey('token', kid)
  }

  function take({ type, data, revision }: RecordedEvent): void {
    // The filter and the catalogue decide which types a stream of this category holds.
    const event = { type, data } as OauthClientEvent | TokenKeyEvent
    switch (event.type) {
      case 'TokenKeyEnded':
        return endKey(event.data.kid)
      case 'OauthTokenRevoked':
        return revoked.add(event.data.jti, Date.parse(event.data.expiresAt) / 1000)
      case 'OauthClientSecretRemoved':
        endingsOf(event.data.clientId).removedSecrets.add(event.data.secretId)
        return
      case 'OauthClientNarrowed':
      case 'OauthClientDisabled': {
        const endings = endingsOf(event.data.clientId)
        endings.validFrom = Math.max(endings.validFrom, Number(revision))
        return
      }
      case 'OauthClientDeleted':
        endingsOf(event.data.clientId).validFrom = Number.POSITIVE_INFINITY
    }
  }

  return {
    get endedKeys() {
      return endedKeys.size
    },
    hasEnded(token) {
      if (!isCurrent()) throw new EventStoreUnavailableError('whether tokens were revoked')
      const endings = clients.get(token.clientId)
      if (revoked.has(token)) return true
      if (endings === undefined) return false
      const { validFrom, removedSecrets } = endings
      return token.clientRevision < validFrom || (token.secretId !== null && removedSecrets.has(token.secretId))
    },
    isCurrent,
    caughtUp: firstCatchUp.promise,
    async close() {
      closing.abort()
      firstCatchUp.reject(closing.signal.reason)
      clearInterval(looking)
      await subscription.ended.catch(() => undefined)
    },
  }
}

/** Minutes for which a revoked token is kept after its end: the clock of this process may be ahead by less. */
const keptMinutes = 1_440

/** Revoked tokens by the minute of their end, which the token itself names. Whole minutes are forgotten. */
function createRevokedTokens(now: () => Date) {
  const byMinute = new Map<number, Set<string>>()
  let forgottenUntil = 0
  const minuteOf = (seconds: number) => Math.floor(seconds / 60)

  /** A clock that was ahead goes back, and so does what counts as forgotten. */
  function forget(): void {
    const minute = minuteOf(now().getTime() / 1000) - keptMinutes
    if (minute === forgottenUntil) return
    forgottenUntil = minute
    for (const each of byMinute.keys()) if (each < minute) byMinute.delete(each)
  }

  return {
    add(jti: string, expiresAt: number): void {
      forget()
      const minute = minuteOf(expiresAt)
      if (minute < forgottenUntil) return
      const ofMinute = byMinute.get(minute) ?? new Set()
      byMinute.set(minute, ofMinute.add(jti))
    },
    has: ({ tokenId, expiresAt }: Pick<VerifiedToken, 'tokenId' | 'expiresAt'>): boolean =>
      byMinute.get(minuteOf(expiresAt))?.has(tokenId) === true,
  }
}
