import type { FastifyRequest } from 'fastify'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { tenantOf, type Caller } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { assessmentBodyLimit, defaultBodyLimit } from '../../platform/http/application.ts'
import { addInlineBodyParser } from '../../platform/http/inline-body-parser.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { answerWrite, latest } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import { personalReaderOf } from '../../platform/http/personal-members.ts'
import { nameShown, requireLiving } from '../../platform/http/shown-content.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { Problem, problem, requireValid, type MemberError } from '../../platform/http/problems.ts'
import { AssessmentRecord, pollAfterMs } from '../../contracts/assessments/record.ts'
import { isBodySite } from '../../contracts/clinical/body-sites.ts'
import { assessmentsProjector } from '../../projections/assessments/assessments.projector.ts'
import { casesProjector } from '../../projections/clinical/cases.projector.ts'
import { imagesProjector } from '../../projections/images/images.projector.ts'
import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import {
  assessments,
  type AssessmentState,
  type DeclaredImage,
  type ExistingAssessment,
} from '../../streams/assessment/aggregate.ts'
import type { Position } from '../../platform/kit/positions.ts'
import { birthErrors, freeFormErrors } from '../clinical/bodies.ts'
import { isRefusal, repeated } from '../../engine/commands/decision.ts'
import { execute, existing, type Executed } from '../../engine/commands/execute.ts'
import { longPoll } from '../../engine/commands/long-poll.ts'
import { keyedRequest, keyProblems, type KeyedRequest } from '../../engine/commands/keyed-request.ts'
import { createKeyedLock } from '../../engine/commands/keyed-lock.ts'
import { CreateAssessmentBody } from './bodies.ts'
import { createInlineAssessment, createSlotAssessment, type RequestedAssessment } from './create-assessment.ts'
import type { AssessmentRouteDependencies } from './dependencies.ts'
import { checkInlineImages, imageMode, withHashes } from './inline-images.ts'
import { namedObjects } from './image-key.ts'
import { openCaseAndRequestReview } from './open-assessment-case.ts'
import { patientOfRequest } from './patient-of-request.ts'
import { recordWithAddresses } from './views.ts'
import { stageImages, type StagedImages } from './staged-image.ts'
import { storeImages } from './store-images.ts'
import { areUploadsOpen } from './submit-assessment.ts'
import { signUploads } from './uploads.ts'

const contentOf = personalReaderOf(AssessmentRecord)

/** A recorded request, from this call or an earlier one. */
interface RecordedRequest {
  readonly state: ExistingAssessment
  readonly isReplayed: boolean
  readonly position: Position | undefined
}

export function createRoute(app: ServiceApp, deps: AssessmentRouteDependencies): void {
  app.register(async (scope) => {
    const open = () => stageImages(deps)
    addRoute(
      scope,
      deps,
      addInlineBodyParser(scope, { mostBytes: assessmentBodyLimit, mostRest: defaultBodyLimit, open }),
    )
  })
}

function addRoute(
  app: ServiceApp,
  deps: AssessmentRouteDependencies,
  stagedFor: (request: FastifyRequest) => StagedImages | undefined,
): void {
  const { store, vault, configuration, now } = deps
  const withLock = createKeyedLock()

  app.post(
    '/assessments',
    {
      schema: {
        operationId: 'createAssessment',
        summary: 'Request an assessment of images in the body, or of declared images that are uploaded later',
        querystring: OrgQuery(),
        body: CreateAssessmentBody,
        response: answers({ 202: AssessmentRecord }, [
          'subject-erased',
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
      config: { access: { scopes: ['assessments:write'] }, rateLimit: 'creates', takesWait: true, showsPersonal: true },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      const productId = productOf(caller)
      const mode = imageMode(body.images)
      const staged = stagedFor(request)
      const checked =
        mode === 'inline' ? checkInlineImages(body.images, staged, configuration.profile === 'production') : []
      const keyed = keyedRequest(request, orgId, vault, withHashes(body, checked))
      const target = { ...assessments.of(orgId, keyed.id), isNew: true }
      const context = commandContext(request, { orgId })

      const errors = bodyErrors(body, { now: now(), profile: configuration.profile })
      // Then the append is the only effect, and it detects a repeat.
      const isOneAppend = mode === 'slot' && body.patient_id !== undefined && errors.length === 0
      // A concurrent call with the same key waits and finds the request recorded. So no key stores its images twice.
      return answer(keyed.isKeyed && !isOneAppend ? await withLock(target.stream, takeUnlessKnown) : await take())

      async function takeUnlessKnown(): Promise<RecordedRequest> {
        const { state, position } = await store.load(target)
        if (state.status === 'absent') return take()
        const decision = repeated(keyed, state)
        if (isRefusal(decision)) throw problem(decision.refused)
        return { state, isReplayed: true, position }
      }

      async function take(): Promise<RecordedRequest> {
        requireValid(errors)
        const requested = {
          assessmentId: keyed.id,
          organisationId: orgId,
          patientId: await patientOfRequest(deps, request, orgId, body, keyed),
          productId,
          finding: {
            findingType: body.finding.finding_type,
            bodySiteId: body.finding.body_site_id?.toLowerCase() ?? null,
          },
          externalReference: body.external_reference ?? null,
          clinicalContext: body.clinical_context ?? null,
          customFields: body.custom_fields ?? null,
          now: now(),
          fingerprint: keyed.fingerprint,
        }
        const { state, events, reached } = await create(requested)
        return { state: existing(state), isReplayed: events.length === 0, position: reached }
      }

      async function create(requested: RequestedAssessment): Promise<Executed<AssessmentState, AssessmentEvent>> {
        const declared = declaredImages(body, keyed)
        if (mode === 'inline') return createInline(requested, declared)
        const command = { ...requested, images: declared, uploadWindowMs: configuration.uploadWindowSeconds * 1000 }
        return execute(store, target, (state) => createSlotAssessment(command, state), context)
      }

      async function createInline(
        requested: RequestedAssessment,
        declared: readonly DeclaredImage[],
      ): Promise<Executed<AssessmentState, AssessmentEvent>> {
        const stored = await storeImages(deps, { orgId, ownerId: keyed.id, declared, checked })
        const deadlineMs = configuration.assessmentDeadlineSeconds * 1000
        const command = { ...requested, images: stored.images, caseId: keyed.idOf('case'), deadlineMs }
        try {
          const created = await execute(store, target, (state) => createInlineAssessment(command, state), context)
          await stored.discard(namedObjects(created.state))
          return created
        } catch (error) {
          // A refusal appends nothing. After any other failure an event may name the objects, so they stay.
          if (error instanceof Problem) await stored.discard(namedObjects((await store.load(target)).state))
          throw error
        }
      }

      async function answer(taken: RecordedRequest): Promise<AssessmentRecord> {
        // Free the bytes before the answer is held back.
        await staged?.discard()
        requireLiving(request, orgId, existing(taken.state))
        // The process may have died before it opened the case. A repeat opens it, so its answer names an existing case.
        const begun =
          taken.state.status === 'processing' ? await openCaseAndRequestReview(deps, taken.state, context) : undefined
        const isOver = ({ status }: AssessmentState) => status !== 'processing'
        const held = await longPoll(store, reply, target, begun?.state ?? taken.state, isOver)
        const state = existing(held.state)
        const isAwaiting = state.status === 'awaiting_images' && areUploadsOpen(now(), state)
        const uploadUrls = isAwaiting ? await signUploads(deps, state) : undefined
        const retryAfter = state.status === 'processing' ? { retryAfterSeconds: pollAfterMs / 1000 } : {}
        const body = await recordWithAddresses(deps, state, uploadUrls)
        // A result is more than the caller sent.
        if (contentOf !== undefined && (taken.isReplayed || state.status === 'completed'))
          nameShown(request, orgId, [{ content: contentOf(body), persons: state }])
        return answerWrite(reply, {
          status: 202,
          body,
          location: `/assessments/${keyed.id}`,
          readBy: [assessmentsProjector, casesProjector, imagesProjector],
          isReplayed: taken.isReplayed,
          position: latest(taken.position, begun?.opened, held.position),
          ...retryAfter,
        })
      }
    },
  )
}

function productOf({ productId }: Caller): string {
  if (productId === null) throw problem('product-required')
  return productId
}

function declaredImages({ images }: CreateAssessmentBody, keyed: KeyedRequest): DeclaredImage[] {
  return images.map(({ capture_type, mime_type, size_bytes }, index) => {
    const size = size_bytes === undefined ? {} : { sizeBytes: size_bytes }
    return { imageId: keyed.idOf(`image-${index}`), captureType: capture_type, mimeType: mime_type, ...size }
  })
}

function bodyErrors(
  body: CreateAssessmentBody,
  { now, profile }: { readonly now: Date; readonly profile: Configuration['profile'] },
): MemberError[] {
  const errors = freeFormErrors(body)
  const { body_site_id: bodySiteId } = body.finding
  if (profile === 'production' && bodySiteId !== undefined && !isBodySite(bodySiteId)) {
    errors.push({
      pointer: '/finding/body_site_id',
      detail: 'is not a body site of the catalogue',
      code: 'unknown-body-site',
    })
  }
  if ((body.patient === undefined) === (body.patient_id === undefined)) {
    errors.push({ pointer: '/patient', detail: 'exactly one of patient and patient_id is required', code: 'one-of' })
  }
  if (body.patient !== undefined) errors.push(...birthErrors(body.patient.dob, '/patient/dob', now))
  const isSizedInline = ({ data, size_bytes: sizeBytes }: CreateAssessmentBody['images'][number]) =>
    data !== undefined && sizeBytes !== undefined
  for (const [index, image] of body.images.entries()) {
    if (isSizedInline(image))
      errors.push({
        pointer: `/images/${index}/size_bytes`,
        detail: 'is only allowed for an image without data',
        code: 'one-of',
      })
  }
  return errors
}
