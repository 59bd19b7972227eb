import type { Configuration } from '../../platform/configuration/configuration.ts'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { created } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem, type MemberError } from '../../platform/http/problems.ts'
import { isBodySite } from '../../contracts/clinical/body-sites.ts'
import { ImageRecord, toImageRecord, type ImageAddresses } from '../../contracts/images/record.ts'
import { images, type ExistingImage } from '../../streams/image/aggregate.ts'
import type { AssessmentDependencies } from '../assessments/dependencies.ts'
import { declaredTypeErrors } from '../assessments/image-checks.ts'
import { execute } from '../handling/execute.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { DeclareImageBody } from './bodies.ts'
import { declareImage } from './declare-image.ts'
import { patientOfImage } from './patient-of-image.ts'
import { isUploadOpen } from './receive-image.ts'
import { signImageUpload } from './sign-image-upload.ts'
import { viewOf } from './views.ts'

export function declareRoute(app: ServiceApp, deps: AssessmentDependencies): void {
  const { store, vault, configuration, now } = deps

  app.post(
    '/images',
    {
      schema: {
        operationId: 'declareImage',
        summary: 'Declare an image of a case or a patient, to be uploaded after',
        querystring: OrgQuery,
        body: DeclareImageBody,
        response: answers({ 201: ImageRecord }, ['case-not-found', 'patient-not-found', ...keyProblems]),
      },
      config: { access: { scopes: ['images:write'] } },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      const keyed = keyedRequest(request, orgId, vault, body)
      const errors = bodyErrors(body, configuration)
      if (errors.length > 0) throw problem('validation-failed', { errors })
      const command = {
        imageId: keyed.id,
        organisationId: orgId,
        patientId: await patientOfImage(deps, orgId, body),
        caseId: body.case_id?.toLowerCase() ?? null,
        captureType: body.capture_type,
        mimeType: body.mime_type,
        ...(body.size_bytes === undefined ? {} : { sizeBytes: body.size_bytes }),
        bodySiteId: body.body_site_id?.toLowerCase() ?? null,
        now: now(),
        uploadWindowMs: configuration.uploadWindowSeconds * 1000,
        fingerprint: keyed.fingerprint,
      }
      const target = { ...images.of(orgId, keyed.id), isNew: true }
      const done = await execute(
        store,
        target,
        (state) => declareImage(command, state),
        commandContext(request, { orgId }),
      )
      if (done.state.status === 'absent') throw problem('internal-error')
      return created(reply, {
        body: toImageRecord(viewOf(done.state), await addressesOf(done.state)),
        location: `/images/${keyed.id}`,
        position: done.reached,
        projectors: ['images'],
        isReplayed: done.events.length === 0,
      })
    },
  )

  /** A repeat signs anew while the upload is awaited. */
  async function addressesOf(state: ExistingImage): Promise<ImageAddresses> {
    if (state.status !== 'awaiting_upload' || !isUploadOpen(now(), state)) return {}
    const { url, expiresAt } = await signImageUpload(deps, state)
    return { upload_url: url, upload_url_expires_at: expiresAt.toISOString() }
  }
}

function bodyErrors(
  { mime_type, body_site_id: bodySiteId }: DeclareImageBody,
  { profile }: Pick<Configuration, 'profile'>,
): MemberError[] {
  const errors = declaredTypeErrors({ mime_type }, '')
  if (profile === 'production' && bodySiteId !== undefined && !isBodySite(bodySiteId)) {
    errors.push({ pointer: '/body_site_id', detail: 'names no body site of the catalogue', code: 'unknown-body-site' })
  }
  return errors
}
