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
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['case_id'],
  indexes: [
    { columns: ['org_id', 'opened_at', 'case_id'] },
    { columns: ['org_id', 'patient_id', 'opened_at', 'case_id'] },
  ],
})

export const findings = defineTable({
  name: 'findings',
  columns: {
    finding_id: 'uuid',
    org_id: 'uuid',
    case_id: 'uuid',
    source: 'text',
    ai_review_id: { type: 'uuid', nullable: true },
    lesion_number: { type: 'integer', nullable: true },
    body_site_id: { type: 'uuid', nullable: true },
    coordinates: { type: 'jsonb', nullable: true },
    created_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['finding_id'],
  indexes: [{ columns: ['org_id', 'case_id', 'created_at'] }],
})

export const diagnoses = defineTable({
  name: 'diagnoses',
  columns: {
    diagnosis_id: 'uuid',
    org_id: 'uuid',
    case_id: 'uuid',
    finding_id: 'uuid',
    source: 'text',
    status: 'text',
    icd10: 'jsonb',
    snomed: 'jsonb',
    category: { type: 'text', nullable: true },
    lesion_number: { type: 'integer', nullable: true },
    created_at: 'timestamptz',
    superseded_at: { type: 'timestamptz', nullable: true },
    stream_revision: 'bigint',
  },
  primaryKey: ['diagnosis_id'],
  indexes: [{ columns: ['org_id', 'case_id', 'created_at'] }],
})
