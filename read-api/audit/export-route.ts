import { ExportRecord, toExportRecord } from '../../contracts/audit/export.ts'
import { readRoute, type ReadDependencies } from '../../engine/reads/read-route.ts'
import { rowsOfTenant, tableOf, viewByIds } from '../../engine/reads/tenant-rows.ts'
import { Uuid } from '../../platform/http/members.ts'
import { problem } from '../../platform/http/problems.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { auditExportsProjector, auditExportsTable } from '../../projections/audit/audit-exports.projector.ts'

const e = tableOf(auditExportsProjector, auditExportsTable, 'e')
const addressSeconds = 900

export const getExport = viewByIds((tenant: TenantId, id: string) => rowsOfTenant(e, tenant).where(e.exportId, id))

export function exportReadRoute(app: ServiceApp, deps: Pick<ReadDependencies, 'pool' | 'objects' | 'now'>): void {
  const { pool, objects, now } = deps

  readRoute(app, {
    path: '/exports/:id',
    operationId: 'getExport',
    summary: 'An export, and the address of its ZIP file',
    params: { id: Uuid },
    access: { scopes: ['audit:export', 'audit:read-phi'], alsoOfActor: true },
    servedBy: [auditExportsProjector],
    reply: ExportRecord,
    problems: ['export-expired'],
    handle: async ({ tenant, params }) => {
      const view = await getExport(pool, tenant, params.id)
      const { objectKey, expiresAt } = view
      const leftMs = expiresAt === null ? 0 : Date.parse(expiresAt) - now().getTime()
      if (view.status === 'finished' && leftMs <= 0) throw problem('export-expired')
      const seconds = Math.max(1, Math.min(addressSeconds, Math.floor(leftMs / 1000)))
      const address = objectKey === null ? undefined : await objects.presignDownload(objectKey, seconds)
      return toExportRecord({
        ...view,
        bytes: view.bytes === null ? null : Number(view.bytes),
        downloadUrl: address?.url ?? null,
      })
    },
    shows: ({ patient_id: patientId }) => ({ patientId }),
  })
}
