import type { Position } from '../../platform/kit/positions.ts'
import { noOrganisation } from '../../platform/kit/tenants.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import { eventKeys } from '../../streams/event-key/aggregate.ts'
import type { EventKeyEvent } from '../../streams/event-key/events.ts'
import { tokenKeys } from '../../streams/token-key/aggregate.ts'
import type { TokenKeyEvent } from '../../streams/token-key/events.ts'
import { users } from '../../streams/user/aggregate.ts'
import type { UserEvent } from '../../streams/user/events.ts'

export interface ErasuresOptions {
  readonly store: Pick<EventStore, 'subscribeToAll' | 'forgetStates'>
  readonly vault: Pick<Vault, 'forgetSubject' | 'endSigningKey'>
  /** Erasures after this position. At a start, nothing older is in memory. */
  readonly from: Position
  readonly logger?: Logger
}

/**
 * Drops what this process keeps in memory of an erased user: the key, then every decrypted state. At the start of the
 * erasure, and again when the key is destroyed: meanwhile a process that has started later reads the key once more. It
 * also stops signing with a key of tokens that ends. The next key of events signs the event that reports it, so this
 * process reads that key from the vault then, and signs with it.
 */
export function followErasures({ store, vault, from, logger }: ErasuresOptions): { close(): Promise<void> } {
  const closing = new AbortController()
  const subscription = store.subscribeToAll({
    name: 'erasures',
    filter: { streamPrefixes: [users, tokenKeys, eventKeys].map(({ category }) => `${category}-`) },
    from,
    signal: closing.signal,
    onEvent: ({ type, data }: RecordedEvent) => {
      // The filter and the catalogue decide which types a stream of this category holds.
      const event = { type, data } as UserEvent | TokenKeyEvent | EventKeyEvent
      if (event.type === 'TokenKeyEnded') return vault.endSigningKey('token', event.data.kid)
      if (event.type === 'EventKeyRotated' || !isErasure(event)) return
      vault.forgetSubject(noOrganisation, event.data.userId)
      store.forgetStates()
    },
    // It may be an erasure.
    onUndecodable: () => store.forgetStates(),
    onError: (error) => logger?.error({ component: 'users', err: error }, 'erasures are no longer followed'),
  })
  return {
    async close() {
      closing.abort()
      await subscription.ended.catch(() => undefined)
    },
  }
}

function isErasure(event: UserEvent): boolean {
  return event.type === 'UserErasureStarted' || event.type === 'UserKeyDestroyed'
}
