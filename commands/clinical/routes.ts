import type { ServiceApp } from '../../platform/http/service.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { caseWriteRoutes } from './case-routes.ts'
import { patientWriteRoutes } from './patient-routes.ts'

export function clinicalWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  patientWriteRoutes(app, deps)
  caseWriteRoutes(app, deps)
}
