import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Failpoint } from '../../platform/lifecycle/graceful-stop.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import type { EventStore } from '../../streams/store/event-store.ts'

/** Dependencies of all write routes. */
export interface CommandDependencies {
  readonly store: EventStore
  readonly vault: Vault
  readonly configuration: Configuration
  readonly now: () => Date
}

/** Dependencies of the routes of assessments and images. */
export interface AssessmentDependencies extends CommandDependencies {
  readonly objects: ObjectStore
  readonly failpoint: Failpoint
}

/** With sources of ids and randomness. */
export interface AssessmentRouteDependencies extends AssessmentDependencies {
  /** A UUID v7. */
  readonly newId: () => string
  /** The part that makes an object key unique. */
  readonly randomPart: () => string
}
