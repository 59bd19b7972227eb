import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import type { ServiceApp } from '../../platform/http/service.ts'
import { createRoute } from './create-route.ts'
import type { AssessmentDependencies } from './dependencies.ts'
import { submitRoute } from './submit-route.ts'
import { uploadUrlRoute } from './upload-url-route.ts'

export function assessmentWriteRoutes(app: ServiceApp, given: AssessmentDependencies): void {
  const deps = { ...given, newId: () => v7(), randomPart: () => randomBytes(12).toString('hex') }
  createRoute(app, deps)
  submitRoute(app, deps)
  uploadUrlRoute(app, deps)
}
