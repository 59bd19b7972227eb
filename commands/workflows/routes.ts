import type { ServiceApp } from '../../platform/http/service.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { advanceRoute } from './advance-route.ts'
import { definitionWriteRoutes } from './definition-routes.ts'
import { instanceWriteRoutes } from './instance-routes.ts'

/** The orchestrator: definitions of workflows, and their instances. */
export function workflowWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  definitionWriteRoutes(app, deps)
  instanceWriteRoutes(app, deps)
  advanceRoute(app, deps)
}
