import type { ConsentEvent } from '../../streams/consent/events.ts'
import { defineProjector, insert } from '../runtime/projector.ts'
import { consentRecords } from './consent-records.table.ts'

export const consentRecordsProjector = defineProjector<ConsentEvent>()({
  name: 'consent_records',
  version: 2,
  decisive: true,
  tables: [consentRecords],
  handlers: {
    ConsentRecorded: ({ data, revision }) => [
      insert(consentRecords, {
        consent_id: data.consentId,
        org_id: data.organisationId,
        patient_id: data.patientId,
        consent_type_id: data.consentTypeId,
        consent_type_code: data.consentTypeCode,
        text_version_id: data.textVersionId,
        text_sha256: data.textSha256,
        decision: data.decision,
        recorded_at: data.recordedAt,
        recorded_by: data.recordedBy,
        created_at: data.createdAt,
        stream_revision: revision,
      }),
    ],
  },
})
