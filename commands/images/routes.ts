import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { AssessmentDependencies } from '../assessments/dependencies.ts'
import { declareRoute } from './declare-route.ts'
import { submitImageRoute } from './submit-route.ts'
import { imageUploadUrlRoute } from './upload-url-route.ts'

export function imageWriteRoutes(app: ServiceApp, given: AssessmentDependencies): void {
  const deps = { ...given, newId: () => v7(), randomPart: () => randomBytes(12).toString('hex') }
  declareRoute(app, deps)
  imageUploadUrlRoute(app, deps)
  submitImageRoute(app, deps)
}
