import { defineTable } from '../runtime/projector.ts'

export const assessments = defineTable({
  name: 'assessments',
  columns: {
    assessment_id: 'uuid',
    org_id: 'uuid',
    patient_id: 'uuid',
    case_id: { type: 'uuid', nullable: true },
    status: 'text',
    external_reference: { type: 'text', nullable: true },
    result: { type: 'jsonb', nullable: true },
    failure_code: { type: 'text', nullable: true },
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['assessment_id'],
})

export const assessmentImages = defineTable({
  name: 'assessment_images',
  columns: {
    assessment_id: 'uuid',
    image_id: 'uuid',
    /** Place in the request, from 0. */
    ordinal: 'integer',
    capture_type: 'text',
    object_key: { type: 'text', nullable: true },
  },
  primaryKey: ['assessment_id', 'image_id'],
})
