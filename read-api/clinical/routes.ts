import type { ServiceApp } from '../../platform/http/service.ts'
import type { ReadDependencies } from '../read-route.ts'
import { bodySiteRoutes } from './body-site-routes.ts'
import { caseReadRoutes } from './case-routes.ts'
import { findingRoutes } from './finding-routes.ts'
import { imageRoutes } from './image-routes.ts'
import { patientReadRoutes } from './patient-routes.ts'

export function clinicalReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  bodySiteRoutes(app, deps)
  patientReadRoutes(app, deps)
  caseReadRoutes(app, deps)
  findingRoutes(app, deps)
  imageRoutes(app, deps)
}
