import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import { AssessmentRecord } from '../../contracts/assessments/record.ts'
import { problem } from '../../platform/http/problems.ts'
import { latest, requireMatch } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { assessmentsProjector } from '../../projections/assessments/assessments.projector.ts'
import { casesProjector } from '../../projections/clinical/cases.projector.ts'
import { imagesProjector } from '../../projections/images/images.projector.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { changed } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import { existing } from '../../engine/commands/execute.ts'
import type { AssessmentDependencies } from './dependencies.ts'
import { longPoll } from '../../engine/commands/long-poll.ts'
import { createKeyedLock } from '../../engine/commands/keyed-lock.ts'
import { createRoute } from './create-route.ts'
import { openCaseAndRequestReview } from './open-assessment-case.ts'
import { areUploadsOpen, isSubmittedBy } from './submit-assessment.ts'
import { submitUploads } from './submit-uploads.ts'
import { uploadUrlRoute } from './upload-url-route.ts'
import { removeUploads, windowOf } from './uploads.ts'
import { recordWithAddresses } from './views.ts'

const scope = 'assessments:write'

export function assessmentWriteRoutes(app: ServiceApp, given: AssessmentDependencies): void {
  const deps = { ...given, newId: () => v7(), randomPart: () => randomBytes(12).toString('hex') }
  const { store, objects, failpoint, now: clock } = deps
  const withLock = createKeyedLock()

  createRoute(app, deps)

  commandRoute(app, deps, {
    method: 'POST',
    path: '/assessments/:id/submit',
    operationId: 'submitAssessment',
    summary: 'Submit the uploaded images of an assessment',
    access: { scopes: [scope] },
    ifMatch: 'record',
    takesWait: true,
    reply: changed(AssessmentRecord),
    shows: ({ patient_id: patientId }) => ({ patientId }),
    readBy: [assessmentsProjector, casesProjector, imagesProjector],
    problems: [
      'assessment-not-awaiting-images',
      'uploads-incomplete',
      'image-invalid',
      'image-too-large',
      'object-store-unavailable',
    ],
    handle: async ({ tenant, params: { id: assessmentId }, keyed: { causing }, context, request, reply }) => {
      const submit = { orgId: tenant, assessmentId, request: causing }
      // A request that waited for another one finds the uploads submitted, so nothing is read or copied twice.
      const done = await withLock(`${tenant} ${assessmentId}`, () =>
        submitUploads(deps, { ...submit, requireRevision: (revision) => requireMatch(request, revision) }, context),
      )
      const { events, reached } = done
      const state = existing(done.state)
      if (events.length > 0) failpoint('assessment-submitted')
      const begun = state.status === 'processing' ? await openCaseAndRequestReview(deps, state, context) : undefined
      if (events.length > 0) await removeUploads(objects, state)
      const target = assessments.of(tenant, assessmentId)
      const held = await longPoll(store, reply, target, begun?.state ?? state, ({ status }) => status !== 'processing')
      const record = await recordWithAddresses(deps, existing(held.state))
      const isReplayed = events.length === 0 && isSubmittedBy(causing, state)
      return { ...done, record, reached: latest(reached, begun?.opened, held.position), isReplayed }
    },
  })

  uploadUrlRoute(app, deps, {
    path: '/assessments/:id/images/:imageId/upload-url',
    operationId: 'signUploadUrl',
    summary: 'Get a new upload address for an image that awaits its upload',
    scope,
    notAwaiting: 'assessment-not-awaiting-images',
    find: async (tenant, idOf) => {
      const { state } = await store.load(assessments.of(tenant, idOf('id')))
      const images = state.status === 'absent' ? [] : state.images
      const image = images.find(({ imageId }) => imageId === idOf('imageId'))
      if (image === undefined) throw problem('not-found')
      const isAwaiting = state.status === 'awaiting_images' && areUploadsOpen(clock(), state)
      if (!isAwaiting) throw problem('assessment-not-awaiting-images')
      return { image, window: windowOf(state), patientId: state.patientId }
    },
  })
}
