import type { Configuration } from '../../platform/configuration/configuration.ts'
import type { Failpoint } from '../../platform/lifecycle/graceful-stop.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import type { EventStore } from '../../streams/store/event-store.ts'

/** What every service's write routes are given. */
export interface CommandDependencies {
  readonly store: EventStore
  readonly vault: Vault
  readonly configuration: Configuration
  readonly now: () => Date
}

/** What the routes of assessments and images are given. */
export interface AssessmentDependencies extends CommandDependencies {
  readonly objects: ObjectStore
  readonly failpoint: Failpoint
}

/** Ids and chance come in with the routes. */
export interface AssessmentRouteDependencies extends AssessmentDependencies {
  /** A UUID v7. */
  readonly newId: () => string
  /** For an object key that nothing else has. */
  readonly randomPart: () => string
}
