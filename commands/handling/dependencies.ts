import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import type { EventStore } from '../../streams/store/event-store.ts'

/** What every service's write routes are given. */
export interface CommandDependencies {
  readonly store: EventStore
  readonly vault: Vault
  readonly configuration: Configuration
  readonly now: () => Date
}
