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
    stream_revision: 'bigint',
  },
  primaryKey: ['patient_id'],
})
