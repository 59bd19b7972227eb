import { defineTable } from '../runtime/projector.ts'

/** What images belong to: an assessment, whose images share their fate, or an image that was declared by itself. */
export const imageOwners = defineTable({
  name: 'image_owners',
  columns: {
    /** The assessment's id, or the image's own. */
    owner_id: 'uuid',
    org_id: 'uuid',
    patient_id: 'uuid',
    case_id: { type: 'uuid', nullable: true },
    assessment_id: { type: 'uuid', nullable: true },
    body_site_id: { type: 'uuid', nullable: true },
    status: 'text',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['owner_id'],
  indexes: [
    { columns: ['org_id', 'created_at', 'owner_id'] },
    { columns: ['org_id', 'patient_id', 'created_at', 'owner_id'] },
    { columns: ['case_id'] },
  ],
})

export const images = defineTable({
  name: 'images',
  columns: {
    image_id: 'uuid',
    owner_id: 'uuid',
    /** Place among those of its owner, from 0. */
    ordinal: 'integer',
    capture_type: 'text',
    mime_type: 'text',
    object_key: { type: 'text', nullable: true },
    sha256: { type: 'text', nullable: true },
    bytes: { type: 'bigint', nullable: true },
    width: { type: 'integer', nullable: true },
    height: { type: 'integer', nullable: true },
  },
  primaryKey: ['owner_id', 'image_id'],
  indexes: [{ columns: ['image_id'] }],
})
