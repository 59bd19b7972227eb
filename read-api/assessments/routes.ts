import {
  AssessmentRecord,
  isOver,
  pollAfterMs,
  signDownloads,
  toAssessmentRecord,
} from '../../contracts/assessments/record.ts'
import { Uuid } from '../../platform/http/members.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import {
  assessmentImagesTable,
  assessmentsProjector,
  assessmentsTable,
} from '../../projections/assessments/assessments.projector.ts'
import { openedView, type OpeningReads } from '../../engine/reads/opened.ts'
import { readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { childrenOf, rowsOfTenant, tableOf, viewByIds } from '../../engine/reads/tenant-rows.ts'

const a = tableOf(assessmentsProjector, assessmentsTable, 'a')
const i = tableOf(assessmentsProjector, assessmentImagesTable, 'i')

/** Reads the assessment and its images in one statement, so that both are of the same moment. */
const assessmentRow = viewByIds((tenant: TenantId, assessmentId: string) =>
  rowsOfTenant(a, tenant)
    .where(a.assessmentId, assessmentId)
    .select({
      id: a.assessmentId,
      images: childrenOf(i, {
        on: { assessmentId: a.assessmentId },
        select: { imageId: i.imageId, captureType: i.captureType, objectKey: i.objectKey },
        orderBy: [i.ordinal],
      }),
    }),
)

export async function getAssessment({ pool, vault }: OpeningReads, tenant: TenantId, assessmentId: string) {
  return openedView(vault, await assessmentRow(pool, tenant, assessmentId))
}

export function assessmentReadRoutes(app: ServiceApp, deps: ReadDependencies): void {
  const { objects, configuration, now } = deps

  readRoute(app, {
    path: '/assessments/:id',
    operationId: 'getAssessment',
    summary: 'An assessment',
    params: { id: Uuid },
    reply: AssessmentRecord,
    shows: ({ patient_id: patientId }) => ({ patientId }),
    access: { scopes: ['assessments:read'] },
    servedBy: [assessmentsProjector],
    holdUntil: ({ status }) => isOver(status),
    find: async ({ tenant, params }) => {
      const view = await getAssessment(deps, tenant, params.id)
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
