import { defineTable } from '../runtime/projector.ts'

export const patients = defineTable({
  name: 'patients',
  columns: {
    patient_id: 'uuid',
    org_id: 'uuid',
    given_name: { type: 'text', nullable: true },
    family_name: { type: 'text', nullable: true },
    dob: { type: 'text', nullable: true },
    identifiers: { type: 'jsonb', nullable: true },
    registered_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['patient_id'],
})

/** Whom an identifier finds. */
export const patientIdentifiers = defineTable({
  name: 'patient_identifiers',
  columns: {
    patient_id: 'uuid',
    scheme: 'text',
    value: 'text',
    org_id: 'uuid',
  },
  primaryKey: ['patient_id', 'scheme', 'value'],
  indexes: [{ columns: ['org_id', 'scheme', 'value'] }],
})
