import type { ServiceApp } from '../../platform/http/service.ts'
import { createRoute } from './create-route.ts'
import type { AssessmentDependencies } from './dependencies.ts'
import { submitRoute } from './submit-route.ts'
import { uploadUrlRoute } from './upload-url-route.ts'

export function assessmentWriteRoutes(app: ServiceApp, deps: AssessmentDependencies): void {
  createRoute(app, deps)
  submitRoute(app, deps)
  uploadUrlRoute(app, deps)
}
