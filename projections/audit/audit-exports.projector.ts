import { ExportStatus } from '../../streams/types.ts'
import { defineProjector, defineTable } from '../../engine/projections/projector.ts'
import { insertRow, patchRow } from '../../engine/projections/row-changes.ts'
import type { AuditExportEvent } from '../../streams/audit-export/events.ts'

/** Every export, also after its ZIP file was removed. */
export const auditExportsTable = defineTable({
  name: 'exports',
  columns: {
    export_id: 'uuid',
    org_id: 'uuid',
    patient_id: 'uuid',
    status: { type: 'text', values: ExportStatus.enum },
    requested_at: 'timestamptz',
    finished_at: { type: 'timestamptz', nullable: true },
    error_code: { type: 'text', nullable: true },
    object_key: { type: 'text', nullable: true },
    bytes: { type: 'bigint', nullable: true },
    sha256: { type: 'text', nullable: true },
    expires_at: { type: 'timestamptz', nullable: true },
    stream_revision: 'bigint',
  },
  primaryKey: ['export_id'],
})

export const auditExportsProjector = defineProjector<AuditExportEvent>()({
  name: 'audit_exports',
  version: 1,
  tables: [auditExportsTable],
  handlers: {
    AuditExportRequested: ({ data, revision }) => [
      insertRow(auditExportsTable, {
        ...data,
        orgId: data.organisationId,
        status: 'running',
        streamRevision: revision,
      }),
    ],
    AuditExportFinished: ({ data: { exportId, objectKey, bytes, sha256, finishedAt, expiresAt }, revision }) => [
      patchRow(auditExportsTable, {
        exportId,
        status: 'finished',
        objectKey,
        bytes: BigInt(bytes),
        sha256,
        finishedAt,
        expiresAt,
        streamRevision: revision,
      }),
    ],
    AuditExportFailed: ({ data: { exportId, errorCode, failedAt }, revision }) => [
      patchRow(auditExportsTable, {
        exportId,
        status: 'failed',
        errorCode,
        finishedAt: failedAt,
        streamRevision: revision,
      }),
    ],
    AuditExportRemoved: ({ data: { exportId }, revision }) => [
      patchRow(auditExportsTable, { exportId, streamRevision: revision }),
    ],
  },
})
