import { defineTable } from '../runtime/projector.ts'

export const cases = defineTable({
  name: 'cases',
  columns: {
    case_id: 'uuid',
    org_id: 'uuid',
    patient_id: 'uuid',
    product_id: { type: 'uuid', nullable: true },
    external_reference: { type: 'text', nullable: true },
    opened_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['case_id'],
})
