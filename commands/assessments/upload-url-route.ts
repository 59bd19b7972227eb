import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { idempotencyOf } from '../../platform/http/idempotency.ts'
import { Instant, Uuid } from '../../platform/http/members.ts'
import { requireNoBody } from '../../platform/http/no-body.ts'
import { idParams, namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import type { ProblemCode } from '../../platform/http/problems.ts'
import { requireLiving } from '../../platform/http/shown-content.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { DeclaredImage } from '../../streams/assessment/aggregate.ts'
import type { AssessmentDependencies } from './dependencies.ts'
import { signUpload, type UploadWindow } from './uploads.ts'

const UploadUrlReply = Type.Object(
  {
    image_id: Uuid,
    upload_url: Type.String({
      description:
        'Accepts a PUT of the bytes with the declared mime_type as Content-Type and without an Authorization header',
    }),
    upload_url_expires_at: Instant,
  },
  { $id: 'UploadUrlReply' },
)

interface UploadUrlRoute {
  readonly path: string
  readonly operationId: string
  readonly summary: string
  readonly scope: string
  /** The problem for an image that awaits no upload. */
  readonly notAwaiting: ProblemCode
  /** Finds the awaited image of the path. */
  readonly find: (
    tenant: TenantId,
    idOf: (parameter: string) => string,
  ) => Promise<{ readonly image: DeclaredImage; readonly window: UploadWindow; readonly patientId: string }>
}

/**
 * Returns a new address for an image after the first one has expired. It changes nothing, so a key is only validated.
 */
export function uploadUrlRoute(app: ServiceApp, deps: AssessmentDependencies, route: UploadUrlRoute): void {
  app.post(
    route.path,
    {
      schema: {
        operationId: route.operationId,
        summary: route.summary,
        params: idParams(route.path),
        querystring: OrgQuery(),
        response: answers({ 200: UploadUrlReply }, [route.notAwaiting, 'idempotency-key-invalid', 'subject-erased']),
      },
      config: { access: { scopes: [route.scope] }, changesNothing: true },
    },
    async (request) => {
      const tenant = tenantOf(request.caller, namedOrg(request.query))
      requireNoBody(request.body)
      idempotencyOf(request, tenant)
      const params = request.params
      const { image, window, patientId } = await route.find(tenant, (parameter) =>
        (params[parameter] ?? '').toLowerCase(),
      )
      requireLiving(request, tenant, { patientId })
      const { url, expiresAt } = await signUpload(deps, window, image)
      return { image_id: image.imageId, upload_url: url, upload_url_expires_at: expiresAt.toISOString() }
    },
  )
}
