import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import type { Failpoint } from '../../platform/lifecycle/graceful-stop.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'

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
