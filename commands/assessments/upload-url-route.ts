import { Type, type Static } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { idempotencyOf } from '../../platform/http/idempotency.ts'
import { Instant, Uuid } from '../../platform/http/members.ts'
import { requireNoBody } from '../../platform/http/no-body.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/http/problems.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import type { AssessmentDependencies } from './dependencies.ts'
import { areUploadsOpen } from './submit-assessment.ts'
import { signUpload, windowOf } from './uploads.ts'

export const UploadUrlReply = Type.Object(
  {
    image_id: Uuid,
    upload_url: Type.String({
      description: 'Takes a PUT of the bytes with the declared mime_type as Content-Type and no Authorization header',
    }),
    upload_url_expires_at: Instant,
  },
  { $id: 'UploadUrlReply' },
)

export type UploadUrlReply = Static<typeof UploadUrlReply>

/** A fresh address for an image whose first one has expired (T9); changes nothing. */
export function uploadUrlRoute(app: ServiceApp, deps: AssessmentDependencies): void {
  const { store, now } = deps

  app.post(
    '/assessments/:id/images/:imageId/upload-url',
    {
      schema: {
        operationId: 'signUploadUrl',
        summary: 'A fresh upload address for an image that is awaited',
        params: Type.Object({ id: Uuid, imageId: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: UploadUrlReply }, ['assessment-not-awaiting-images', 'idempotency-key-invalid']),
      },
      config: { access: { scopes: ['assessments:write'] }, changesNothing: true },
    },
    async (request): Promise<UploadUrlReply> => {
      const { body, caller, params, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      requireNoBody(body)
      idempotencyOf(request, orgId)
      const { state } = await store.load(assessments.of(orgId, params.id.toLowerCase()))
      const imageId = params.imageId.toLowerCase()
      const image = state.status === 'absent' ? undefined : state.images.find((each) => each.imageId === imageId)
      if (image === undefined) throw problem('not-found')
      if (state.status !== 'awaiting_images' || !areUploadsOpen(now(), state))
        throw problem('assessment-not-awaiting-images')
      const { url, expiresAt } = await signUpload(deps, windowOf(state), image)
      return { image_id: imageId, upload_url: url, upload_url_expires_at: expiresAt.toISOString() }
    },
  )
}
