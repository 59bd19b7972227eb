import type { ConsentTypeEvent } from '../../streams/consent-type/events.ts'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import { defineProjector, defineTable } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, removeRow, removeRows } from '../../engine/projections/row-changes.ts'

export const consentTypesTable = defineTable({
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

export const textVersionsTable = defineTable({
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

export const consentTypesProjector = defineProjector<ConsentTypeEvent>()({
  name: 'consent_types',
  version: 2,
  tables: [consentTypesTable, textVersionsTable],
  handlers: {
    ConsentTypeCreated: ({ data, revision }) => [
      insertRow(consentTypesTable, {
        ...data,
        orgId: data.organisationId,
        updatedAt: data.createdAt,
        streamRevision: revision,
      }),
    ],
    ConsentTextVersionPublished: ({ data, revision, stream }) => [
      insertRow(textVersionsTable, { ...data, orgId: parseOwnedStream(stream).orgId }),
      patchRow(consentTypesTable, { consentTypeId: data.consentTypeId, streamRevision: revision }),
    ],
    ConsentTypeUpdated: ({ data, revision }) => [patchRow(consentTypesTable, { ...data, streamRevision: revision })],
    // There is no decision on the type, so no other row refers to it.
    ConsentTypeDeleted: ({ data: { consentTypeId } }) => [
      removeRows(textVersionsTable, { consentTypeId }),
      removeRow(consentTypesTable, { consentTypeId }),
    ],
    ConsentTypeUsed: ({ data: { consentTypeId }, revision }) => [
      patchRow(consentTypesTable, { consentTypeId, streamRevision: revision }),
    ],
  },
})
