import { Type } from 'typebox'
import { ConsentDecision, type ConsentEvent } from '../../streams/consent/events.ts'
import { defineProjector, defineTable, sealed } from '../../engine/projections/projector.ts'
import { insertRow } from '../../engine/projections/row-changes.ts'

/** Every recorded decision. The latest of a patient and a type is the current one. */
export const consentRecordsTable = defineTable({
  name: 'consent_records',
  columns: {
    consent_id: 'uuid',
    org_id: 'uuid',
    patient_id: 'uuid',
    consent_type_id: 'uuid',
    consent_type_code: 'text',
    text_version_id: 'uuid',
    text_sha256: 'text',
    decision: { type: 'text', values: ConsentDecision.enum },
    recorded_at: 'timestamptz',
    recorded_by: sealed(Type.String()),
    created_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['consent_id'],
  indexes: [
    { columns: ['org_id', 'patient_id', 'consent_type_code', 'recorded_at', 'stream_revision'] },
    { columns: ['org_id', 'patient_id', 'recorded_at', 'stream_revision'] },
  ],
})

export const consentRecordsProjector = defineProjector<ConsentEvent>()({
  name: 'consent_records',
  version: 3,
  decisive: true,
  tables: [consentRecordsTable],
  handlers: {
    ConsentRecorded: ({ data, revision }) => [
      insertRow(consentRecordsTable, { ...data, orgId: data.organisationId, streamRevision: revision }),
    ],
  },
})
