import type { ServiceApp } from '../../platform/http/service.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { changeRoutes } from './change-route.ts'
import { rotateRoute } from './rotate-route.ts'
import { subscribeRoute } from './subscribe-route.ts'

export function webhookWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  subscribeRoute(app, deps)
  changeRoutes(app, deps)
  rotateRoute(app, deps)
}
