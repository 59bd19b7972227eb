import { auditExports } from '../../streams/audit-export/aggregate.ts'
import type { AuditExportEvent } from '../../streams/audit-export/events.ts'
import { at, factsOf, hash, ids } from './facts.ts'

export const exportId = '00000000-0000-4000-8000-0000000000e7'

export const exportFact = factsOf<AuditExportEvent>({
  AuditExportRequested: {
    exportId,
    organisationId: ids.org,
    patientId: ids.patient,
    requestedAt: at(0),
    fingerprint: hash('f'),
  },
  AuditExportFinished: {
    exportId,
    patientId: ids.patient,
    objectKey: `exports/${ids.org}/${exportId}/one.zip`,
    sha256: hash('a'),
    bytes: 2_000_000,
    finishedAt: at(10),
    expiresAt: at(86_410),
  },
  AuditExportFailed: { exportId, patientId: ids.patient, errorCode: 'SUBJECT_ERASED', failedAt: at(10) },
  AuditExportRemoved: { exportId, removedAt: at(86_411) },
})

/** An event of the exports of a patient, in its stream. */
export const ofExports = (event: AuditExportEvent, orgId = ids.org) => ({
  ...event,
  stream: auditExports.of(orgId, ids.patient).stream,
})
