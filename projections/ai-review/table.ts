import { defineTable } from '../runtime/projector.ts'

export const aiReviews = defineTable({
  name: 'ai_reviews',
  columns: {
    ai_review_id: 'uuid',
    org_id: 'uuid',
    case_id: 'uuid',
    product_id: 'uuid',
    patient_id: { type: 'uuid', nullable: true },
    status: 'text',
    attempt_count: 'integer',
    correlation_id: { type: 'text', nullable: true },
    provider_case_id: { type: 'integer', nullable: true },
    provider_checksum: { type: 'text', nullable: true },
    provider_version: { type: 'text', nullable: true },
    /** Of a processed case, whether the review completed or failed. */
    analysis_result: { type: 'text', nullable: true },
    error_classification: { type: 'text', nullable: true },
    upstream_status: { type: 'integer', nullable: true },
    cancel_reason: { type: 'text', nullable: true },
    superseded_by_id: { type: 'uuid', nullable: true },
    superseded_at: { type: 'timestamptz', nullable: true },
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    completed_at: { type: 'timestamptz', nullable: true },
    stream_revision: 'bigint',
  },
  primaryKey: ['ai_review_id'],
  indexes: [{ columns: ['org_id', 'created_at', 'ai_review_id'] }, { columns: ['case_id'] }],
})

/** No address of an image stands here: addresses are credentials (T30). */
export const aiReviewImages = defineTable({
  name: 'ai_review_images',
  columns: {
    ai_review_id: 'uuid',
    clinical_image_id: 'uuid',
    /** Place in the request, from 0. */
    ordinal: 'integer',
    image_type: 'text',
    provider_image_id: { type: 'integer', nullable: true },
    provider_image_hash: { type: 'text', nullable: true },
    image_quality: { type: 'text', nullable: true },
    created_at: 'timestamptz',
  },
  primaryKey: ['ai_review_id', 'clinical_image_id'],
})

export const aiReviewResults = defineTable({
  name: 'ai_review_results',
  columns: {
    ai_review_id: 'uuid',
    analysis_status: { type: 'text', nullable: true },
    lesion_count: 'integer',
    processing_type: { type: 'text', nullable: true },
    sensitivity_set: { type: 'text', nullable: true },
    report_date: { type: 'timestamptz', nullable: true },
    created_at: 'timestamptz',
  },
  primaryKey: ['ai_review_id'],
})

export const aiReviewLesions = defineTable({
  name: 'ai_review_lesions',
  columns: {
    ai_review_id: 'uuid',
    lesion_number: 'integer',
    lesion: 'jsonb',
    created_at: 'timestamptz',
  },
  primaryKey: ['ai_review_id', 'lesion_number'],
})
