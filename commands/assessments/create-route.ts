import { v5 } from 'uuid'
import type { Configuration } from '../../platform/configuration.ts'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { assessmentBodyLimit } from '../../platform/http/application.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { accepted, latest } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem, type MemberError } from '../../platform/problems.ts'
import { AssessmentRecord, pollAfterMs } from '../../platform/records/assessment.ts'
import { isBodySite } from '../../platform/records/body-sites.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import { assessmentFold, type AssessmentState, type ExistingAssessment } from '../../streams/assessment/state.ts'
import { assessmentStream } from '../../streams/assessment/stream.ts'
import { birthErrors, freeFormErrors } from '../clinical/bodies.ts'
import { isRefusal, repeated } from '../handling/decision.ts'
import { execute, type Executed } from '../handling/execute.ts'
import { holdForEnd } from '../handling/hold-for-end.ts'
import { keyedRequest, keyProblems, type KeyedRequest } from '../handling/keyed-request.ts'
import { CreateAssessmentBody } from './bodies.ts'
import { createInlineAssessment, createSlotAssessment, type InlineImage } from './create-assessment.ts'
import type { AssessmentRouteDependencies } from './dependencies.ts'
import { dayOf, imageKey } from './image-key.ts'
import { decodeInlineImages, imageMode, type DecodedImage } from './inline-images.ts'
import { openAssessmentCase } from './open-assessment-case.ts'
import { patientOfRequest } from './patient-of-request.ts'
import { recordOf } from './record-of.ts'
import { areUploadsOpen } from './submit-assessment.ts'
import { signUploads } from './uploads.ts'

export function createRoute(app: ServiceApp, deps: AssessmentRouteDependencies): void {
  const { store, vault, objects, configuration, now, randomPart } = deps

  app.post(
    '/assessments',
    {
      bodyLimit: assessmentBodyLimit,
      schema: {
        operationId: 'createAssessment',
        summary: 'Request an assessment, from images in the body or from declared ones that are uploaded after',
        querystring: OrgQuery,
        body: CreateAssessmentBody,
        response: answers({ 202: AssessmentRecord }, [
          'product-required',
          'mixed-image-mode',
          'image-invalid',
          'image-too-large',
          'patient-not-found',
          'patient-identifier-conflict',
          'object-store-unavailable',
          ...keyProblems,
        ]),
      },
      config: { access: { scopes: ['assessments:write'] }, rateLimit: 'creates', takesWait: true },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      const { productId } = caller
      if (productId === null) throw problem('product-required')
      const mode = imageMode(body.images)
      const decoded = mode === 'inline' ? decodeInlineImages(body.images, configuration.profile === 'production') : []
      const keyed = keyedRequest(request, orgId, vault, withHashes(body, decoded))
      const target = { fold: assessmentFold, stream: assessmentStream(orgId, keyed.id), isNew: true }
      const context = commandContext(request, { orgId })

      const errors = bodyErrors(body, { now: now(), profile: configuration.profile })
      // Nothing but the append changes anything then, and that tells a repeat by itself.
      const isOneAppend = mode === 'slot' && body.patient_id !== undefined && errors.length === 0
      if (keyed.isKeyed && !isOneAppend) {
        const { state, position } = await store.load(target.fold, target.stream, { fresh: true })
        if (state.status !== 'absent') {
          const decision = repeated(keyed, state)
          if (isRefusal(decision)) throw problem(decision.refused, decision.details)
          return answer(state, { isReplayed: true, position })
        }
      }
      if (errors.length > 0) throw problem('validation-failed', { errors })
      const requested = {
        assessmentId: keyed.id,
        organisationId: orgId,
        patientId: await patientOfRequest(deps, request, orgId, body, keyed),
        productId,
        finding: { findingType: body.finding.finding_type, bodySiteId: body.finding.body_site_id?.toLowerCase() ?? null },
        externalReference: body.external_reference ?? null,
        clinicalContext: body.clinical_context ?? null,
        customFields: body.custom_fields ?? null,
        now: now(),
        fingerprint: keyed.fingerprint,
      }
      const done = await create()
      if (done.state.status === 'absent') throw problem('internal-error')
      const isReplayed = done.events.length === 0
      const open = { ...context, commandId: v5('open-case', context.commandId) }
      const opened = !isReplayed && done.state.status === 'processing' ? await openAssessmentCase(deps, done.state, open) : undefined
      return answer(done.state, { isReplayed, position: latest(done.reached, opened) })

      async function create(): Promise<Executed<AssessmentState, AssessmentEvent>> {
        const declared = declaredImages(body, keyed)
        if (mode === 'slot') {
          const command = { ...requested, images: declared, uploadWindowMs: configuration.uploadWindowSeconds * 1000 }
          return execute(store, target, (state) => createSlotAssessment(command, state), context)
        }
        const images: InlineImage[] = []
        for (const [index, image] of decoded.entries()) {
          const declaration = declared[index]
          if (declaration !== undefined) images.push(await storeImage(declaration, image))
        }
        const deadlineMs = configuration.assessmentDeadlineSeconds * 1000
        const command = { ...requested, images, caseId: keyed.idOf('case'), deadlineMs }
        return execute(store, target, (state) => createInlineAssessment(command, state), context)
      }

      async function storeImage(declaration: ReturnType<typeof declaredImages>[number], image: DecodedImage): Promise<InlineImage> {
        const { data, width, height } = image
        const key = imageKey({ day: dayOf(now()), orgId, ownerId: keyed.id, imageId: declaration.imageId, randomPart: randomPart() })
        const object = await objects.put(key, data, declaration.mimeType)
        return { ...declaration, object, width, height }
      }

      async function answer(
        written: ExistingAssessment,
        write: { readonly isReplayed: boolean; readonly position: ReturnType<typeof latest> },
      ): Promise<AssessmentRecord> {
        const { state, position } = await holdForEnd(store, reply, target, written, ({ status }) => status !== 'processing')
        if (state.status === 'absent') throw problem('internal-error')
        const isAwaiting = state.status === 'awaiting_images' && areUploadsOpen(now(), state)
        const uploadUrls = isAwaiting ? await signUploads(deps, state) : undefined
        const retryAfter = state.status === 'processing' ? { retryAfterSeconds: pollAfterMs / 1000 } : {}
        return accepted(reply, {
          body: await recordOf(deps, state, uploadUrls),
          location: `/assessments/${keyed.id}`,
          projectors: ['assessments', 'cases'],
          isReplayed: write.isReplayed,
          position: latest(write.position, position),
          ...retryAfter,
        })
      }
    },
  )
}

function declaredImages({ images }: CreateAssessmentBody, keyed: KeyedRequest) {
  return images.map(({ capture_type, mime_type }, index) => {
    return { imageId: keyed.idOf(`image-${index}`), captureType: capture_type, mimeType: mime_type }
  })
}

/** What an Idempotency-Key stands for: the body, the bytes of each image by hash and length. */
function withHashes(body: CreateAssessmentBody, decoded: readonly DecodedImage[]): unknown {
  const images = body.images.map(({ data: _, ...image }, index) => {
    const bytes = decoded[index]
    return bytes === undefined ? image : { ...image, data: { sha256: bytes.sha256, length: bytes.bytes } }
  })
  return { ...body, images }
}

function bodyErrors(body: CreateAssessmentBody, { now, profile }: { readonly now: Date; readonly profile: Configuration['profile'] }): MemberError[] {
  const errors = freeFormErrors(body)
  const { body_site_id: bodySiteId } = body.finding
  if (profile === 'production' && bodySiteId !== undefined && !isBodySite(bodySiteId)) {
    errors.push({ pointer: '/finding/body_site_id', detail: 'names no body site of the catalogue', code: 'unknown-body-site' })
  }
  if ((body.patient === undefined) === (body.patient_id === undefined)) {
    errors.push({ pointer: '/patient', detail: 'exactly one of patient and patient_id is needed', code: 'one-of' })
  }
  if (body.patient !== undefined) errors.push(...birthErrors(body.patient.dob, '/patient/dob', now))
  return errors
}
