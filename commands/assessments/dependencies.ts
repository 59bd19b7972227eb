import type { Failpoint } from '../../platform/failpoint.ts'
import type { ObjectStore } from '../../platform/object-store.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'

export interface AssessmentDependencies extends CommandDependencies {
  readonly objects: ObjectStore
  readonly failpoint: Failpoint
}
