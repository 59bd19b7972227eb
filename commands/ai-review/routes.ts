import { v7 } from 'uuid'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { cancelRoute } from './cancel-route.ts'
import { supersedeRoute } from './supersede-route.ts'

export function aiReviewWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  cancelRoute(app, deps)
  supersedeRoute(app, { ...deps, newId: () => v7() })
}
