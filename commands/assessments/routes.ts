import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { v5 } from 'uuid'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { assessmentBodyLimit } from '../../platform/http/application.ts'
import { accepted, latest } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { ObjectStore } from '../../platform/object-store.ts'
import { problem, Problem } from '../../platform/problems.ts'
import { AssessmentRecord, pollAfterMs, toAssessmentRecord } from '../../platform/records/assessment.ts'
import { signDownloads } from '../../platform/records/download-urls.ts'
import type { TenantId } from '../../platform/tenants.ts'
import { assessmentFold } from '../../streams/assessment/state.ts'
import { assessmentStream } from '../../streams/assessment/stream.ts'
import { birthErrors, freeFormErrors } from '../clinical/bodies.ts'
import { patientsHolding, registerWithIdentifiers } from '../clinical/register-with-identifiers.ts'
import { requirePatient } from '../clinical/require-patient.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { isRefusal, repeated } from '../handling/decision.ts'
import { execute } from '../handling/execute.ts'
import { keyedRequest, keyProblems, type KeyedRequest } from '../handling/keyed-request.ts'
import { CreateAssessmentBody } from './bodies.ts'
import { createInlineAssessment, type InlineImage } from './create-assessment.ts'
import { decodeInlineImages, type DecodedImage } from './inline-images.ts'
import { openAssessmentCase } from './open-assessment-case.ts'
import { viewOf } from './views.ts'

export interface AssessmentDependencies extends CommandDependencies {
  readonly objects: ObjectStore
}

export function assessmentWriteRoutes(app: ServiceApp, deps: AssessmentDependencies): void {
  const { store, vault, objects, configuration, now } = deps

  app.post(
    '/assessments',
    {
      bodyLimit: assessmentBodyLimit,
      schema: {
        operationId: 'createAssessment',
        summary: 'Request an assessment from inline images',
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
      config: { access: { scopes: ['assessments:write'] }, rateLimit: 'creates' },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      if (caller.productId === null) throw problem('product-required')
      const decoded = decodeInlineImages(body.images, configuration.profile === 'production')
      const keyed = keyedRequest(request, orgId, vault, withHashes(body, decoded))
      const target = { fold: assessmentFold, stream: assessmentStream(orgId, keyed.id) }
      const context = commandContext(request, { orgId })

      const known = keyed.isKeyed ? (await store.load(target.fold, target.stream, { fresh: true })).state : null
      if (known !== null && known.status !== 'absent') {
        const decision = repeated(keyed, known)
        if (isRefusal(decision)) throw problem(decision.refused, decision.details)
        return answer(known, { isReplayed: true, position: undefined })
      }

      const errors = bodyErrors(body, now())
      if (errors.length > 0) throw problem('validation-failed', { errors })
      const patientId = await patientOf(request, orgId, body, keyed)
      const images: InlineImage[] = []
      for (const [index, image] of decoded.entries()) images.push(await storeImage(orgId, keyed, image, index))

      const command = {
        assessmentId: keyed.id,
        organisationId: orgId,
        patientId,
        productId: caller.productId,
        caseId: keyed.idOf('case'),
        finding: { findingType: body.finding.finding_type, bodySiteId: body.finding.body_site_id?.toLowerCase() ?? null },
        images,
        externalReference: body.external_reference ?? null,
        clinicalContext: body.clinical_context ?? null,
        customFields: body.custom_fields ?? null,
        deadlineMs: configuration.assessmentDeadlineSeconds * 1000,
        now: now(),
        fingerprint: keyed.fingerprint,
      }
      const done = await execute(store, target, (state) => createInlineAssessment(command, state), context)
      if (done.state.status === 'absent') throw problem('internal-error')
      const open = { ...context, commandId: v5('open-case', context.commandId) }
      const opened = done.state.status === 'processing' ? await openAssessmentCase(deps, done.state, open) : undefined
      const position = latest(done.position, opened)
      return answer(done.state, { isReplayed: done.events.length === 0, position })

      async function answer(
        state: Parameters<typeof viewOf>[0],
        write: { readonly isReplayed: boolean; readonly position: ReturnType<typeof latest> },
      ): Promise<AssessmentRecord> {
        const view = viewOf(state)
        const urls = await signDownloads(objects, view, configuration.downloadUrlTtlSeconds)
        const retryAfter = view.status === 'processing' ? { retryAfterSeconds: pollAfterMs / 1000 } : {}
        return accepted(reply, {
          body: toAssessmentRecord(view, urls),
          location: `/assessments/${keyed.id}`,
          projectors: ['assessments', 'cases'],
          ...write,
          ...retryAfter,
        })
      }
    },
  )

  /** The patient that the body names, or the one it describes: an identifier that matches one patient reuses it. */
  async function patientOf(request: FastifyRequest, orgId: TenantId, body: CreateAssessmentBody, keyed: KeyedRequest): Promise<string> {
    if (body.patient_id !== undefined) return (await requirePatient(deps, orgId, body.patient_id)).patientId
    if (body.patient === undefined) throw problem('internal-error')
    const identifiers = body.patient.identifiers ?? []
    const { given_name: givenName, family_name: familyName, dob } = body.patient
    const command = {
      patientId: keyed.idOf('patient'),
      organisationId: orgId,
      givenName,
      familyName,
      dob,
      identifiers,
      now: now(),
      fingerprint: keyed.fingerprint,
    }
    for (let attempt = 1; ; attempt++) {
      const holders = await patientsHolding(deps, orgId, identifiers)
      if (holders.length > 1) throw problem('patient-identifier-conflict')
      const [holder] = holders
      if (holder !== undefined && holder !== command.patientId) return holder
      try {
        await registerWithIdentifiers(deps, orgId, command, commandContext(request, { orgId }))
        return command.patientId
      } catch (error) {
        // Another request is registering the same patient: soon it is the one match, and is reused.
        if (!isIdentifierConflict(error) || attempt === conflictAttempts) throw error
        await sleep(conflictPauseMs * attempt)
      }
    }
  }

  /** The key has a random part: no replay and no retry overwrites what an event names. */
  async function storeImage(orgId: TenantId, keyed: KeyedRequest, image: DecodedImage, index: number): Promise<InlineImage> {
    const imageId = keyed.idOf(`image-${index}`)
    const key = `images/${orgId}/${keyed.id}/${imageId}/${randomBytes(12).toString('hex')}`
    const object = await objects.put(key, image.bytes, image.mimeType)
    const { captureType, mimeType, width, height } = image
    return { imageId, captureType, mimeType, object, width, height }
  }
}

const conflictAttempts = 8
const conflictPauseMs = 20

function isIdentifierConflict(error: unknown): boolean {
  return error instanceof Problem && error.code === 'patient-identifier-conflict'
}

/** What an Idempotency-Key stands for: the body, each image by hash and length of its bytes. */
function withHashes(body: CreateAssessmentBody, decoded: readonly DecodedImage[]): unknown {
  const images = body.images.map(({ data: _, ...image }, index) => {
    const bytes = decoded[index]
    return { ...image, data: { sha256: bytes?.sha256, length: bytes?.bytes.length } }
  })
  return { ...body, images }
}

function bodyErrors(body: CreateAssessmentBody, now: Date) {
  const errors = freeFormErrors(body)
  if ((body.patient === undefined) === (body.patient_id === undefined)) {
    errors.push({ pointer: '/patient', detail: 'exactly one of patient and patient_id is needed', code: 'one-of' })
  }
  if (body.patient !== undefined) errors.push(...birthErrors(body.patient.dob, '/patient/dob', now))
  return errors
}
