import { Type } from 'typebox'
import { Fingerprint, Id, Instant, OrgId, Sha256 } from '../../engine/aggregates/types.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'

/** No PHI: the content is in the object store, and only for a day. */
export const auditExportEvents = {
  AuditExportRequested: defineEvent(
    'AuditExportRequested',
    Type.Object({
      exportId: Id,
      organisationId: OrgId,
      patientId: Id,
      requestedAt: Instant,
      fingerprint: Fingerprint,
    }),
  ),
  /** The ZIP file is in the object store under a key that nothing overwrites. */
  AuditExportFinished: defineEvent(
    'AuditExportFinished',
    Type.Object({
      exportId: Id,
      patientId: Id,
      objectKey: Type.String(),
      sha256: Sha256,
      bytes: Type.Integer({ minimum: 0 }),
      finishedAt: Instant,
      expiresAt: Instant,
    }),
  ),
  AuditExportFailed: defineEvent(
    'AuditExportFailed',
    Type.Object({ exportId: Id, patientId: Id, errorCode: Type.String(), failedAt: Instant }),
  ),
  /** Nothing of the export is in the object store any more. */
  AuditExportRemoved: defineEvent('AuditExportRemoved', Type.Object({ exportId: Id, removedAt: Instant })),
} as const

export type AuditExportEvent = EventOf<typeof auditExportEvents>
