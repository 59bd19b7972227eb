import { defineTable } from '../runtime/projector.ts'

export const consentTypes = defineTable({
  name: 'consent_types',
  columns: {
    consent_type_id: 'uuid',
    org_id: 'uuid',
    code: 'text',
    display_name: 'text',
    description: { type: 'text', nullable: true },
    legal_basis: 'text',
    required: 'boolean',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['consent_type_id'],
  indexes: [{ columns: ['org_id', 'code'], unique: true }],
})

export const textVersions = defineTable({
  name: 'text_versions',
  columns: {
    text_version_id: 'uuid',
    org_id: 'uuid',
    consent_type_id: 'uuid',
    locale: 'text',
    text: 'text',
    content_hash: 'text',
    effective_from: 'timestamptz',
    created_at: 'timestamptz',
  },
  primaryKey: ['text_version_id'],
  indexes: [{ columns: ['consent_type_id', 'created_at', 'text_version_id'] }],
})
