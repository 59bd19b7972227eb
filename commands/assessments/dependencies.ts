import type { Failpoint } from '../../platform/lifecycle/failpoint.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'

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
