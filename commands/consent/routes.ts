import type { ServiceApp } from '../../platform/http/service.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { decisionRoute } from './decision-route.ts'
import { textVersionRoute } from './text-version-route.ts'
import { typeRoutes } from './type-routes.ts'

export function consentWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  typeRoutes(app, deps)
  textVersionRoute(app, deps)
  decisionRoute(app, deps)
}
