import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { idempotencyOf } from '../../platform/http/idempotency.ts'
import { Uuid } from '../../platform/http/members.ts'
import { requireNoBody } from '../../platform/http/no-body.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/http/problems.ts'
import { images } from '../../streams/image/aggregate.ts'
import type { AssessmentDependencies } from '../assessments/dependencies.ts'
import { UploadUrlReply } from '../assessments/upload-url-route.ts'
import { isUploadOpen } from './receive-image.ts'
import { signImageUpload } from './sign-image-upload.ts'

/** A fresh address for an image whose first one has expired; changes nothing. */
export function imageUploadUrlRoute(app: ServiceApp, deps: AssessmentDependencies): void {
  const { store, now } = deps

  app.post(
    '/images/:id/upload-url',
    {
      schema: {
        operationId: 'signImageUploadUrl',
        summary: 'A fresh upload address for a declared image',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        response: answers({ 200: UploadUrlReply }, ['image-not-awaiting-upload', 'idempotency-key-invalid']),
      },
      config: { access: { scopes: ['images:write'] }, changesNothing: true },
    },
    async (request): Promise<UploadUrlReply> => {
      const { body, caller, params, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      requireNoBody(body)
      idempotencyOf(request, orgId)
      const { state } = await store.load(images.of(orgId, params.id.toLowerCase()))
      if (state.status === 'absent') throw problem('not-found')
      if (state.status !== 'awaiting_upload' || !isUploadOpen(now(), state)) throw problem('image-not-awaiting-upload')
      const { url, expiresAt } = await signImageUpload(deps, state)
      return { image_id: state.imageId, upload_url: url, upload_url_expires_at: expiresAt.toISOString() }
    },
  )
}
