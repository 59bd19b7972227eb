import {
  AssessmentRecord,
  isOver,
  pollAfterMs,
  signDownloads,
  toAssessmentRecord,
  type AssessmentView,
} from '../../contracts/assessments/record.ts'
import { Uuid } from '../../platform/http/members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { assessmentsProjector, assessmentsTable } from '../../projections/assessments/assessments.projector.ts'
import { readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { columnsOf, computed, rowsOfTenant, viewByIds } from '../../engine/reads/tenant-rows.ts'

const a = columnsOf(assessmentsTable, 'a')

/** Reads the assessment and its images in one statement, so that both are of the same moment. */
export const getAssessment = viewByIds((tenant: TenantId, assessmentId: string) =>
  rowsOfTenant(assessmentsProjector, assessmentsTable, 'a', tenant)
    .where(a.assessmentId, assessmentId)
    .select({
      id: a.assessmentId,
      images: computed<AssessmentView['images']>(
        `(select jsonb_agg(jsonb_build_object('imageId', i.image_id, 'captureType', i.capture_type, 'objectKey', i.object_key)
                           order by i.ordinal)
          from assessments.assessment_images i where i.assessment_id = ??)`,
        [a.assessmentId],
      ),
    }),
)

export function assessmentReadRoutes(app: ServiceApp, { pool, objects, configuration, now }: ReadDependencies): void {
  readRoute(app, {
    path: '/assessments/:id',
    operationId: 'getAssessment',
    summary: 'An assessment',
    params: { id: Uuid },
    reply: AssessmentRecord,
    access: { scopes: ['assessments:read'] },
    servedBy: [assessmentsProjector],
    holdUntil: ({ status }) => isOver(status),
    find: async ({ tenant, params }) => {
      const view = await getAssessment(pool, tenant, params.id)
      const ttlSeconds = configuration.downloadUrlTtlSeconds
      return {
        body: toAssessmentRecord(view, await signDownloads(objects, view, ttlSeconds)),
        revision: BigInt(view.streamRevision),
        // A caller with a kept record gets fresh signed addresses before the old ones expire.
        variant: view.status === 'completed' ? Math.floor((now().getTime() * 2) / (ttlSeconds * 1000)) : undefined,
        headers: view.status === 'processing' ? { 'retry-after': String(pollAfterMs / 1000) } : {},
      }
    },
  })
}
