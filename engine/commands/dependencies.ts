import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import type { EventStore } from '../store/event-store.ts'

/** Dependencies of all write routes. */
export interface CommandDependencies {
  readonly store: EventStore
  readonly vault: Vault
  readonly configuration: Configuration
  readonly now: () => Date
}
