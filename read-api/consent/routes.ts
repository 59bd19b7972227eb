import type { ServiceApp } from '../../platform/http/service.ts'
import type { ReadDependencies } from '../dependencies.ts'
import { currentRecordRoute } from './current-record-route.ts'
import { historyRoutes } from './history-routes.ts'
import { standingRoutes } from './standing-routes.ts'
import { typeReadRoutes } from './type-routes.ts'

export function consentReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  standingRoutes(app, deps)
  historyRoutes(app, deps)
  currentRecordRoute(app, deps)
  typeReadRoutes(app, deps)
}
