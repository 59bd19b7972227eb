import type { ConsentTypeEvent } from '../../streams/consent-type/events.ts'
import { parseOwnedStream } from '../../streams/stream-name.ts'
import { defineProjector, insert, patch } from '../runtime/projector.ts'
import { consentTypes, textVersions } from './consent-types.table.ts'

export const consentTypesProjector = defineProjector<ConsentTypeEvent>()({
  name: 'consent_types',
  version: 1,
  tables: [consentTypes, textVersions],
  handlers: {
    ConsentTypeCreated: ({ data, revision }) => [
      insert(consentTypes, {
        consent_type_id: data.consentTypeId,
        org_id: data.organisationId,
        code: data.code,
        display_name: data.displayName,
        description: data.description,
        legal_basis: data.legalBasis,
        required: data.required,
        created_at: data.createdAt,
        updated_at: data.createdAt,
        stream_revision: revision,
      }),
    ],
    ConsentTextVersionPublished: ({ data, revision, stream }) => [
      insert(textVersions, {
        text_version_id: data.textVersionId,
        org_id: parseOwnedStream(stream).orgId,
        consent_type_id: data.consentTypeId,
        locale: data.locale,
        text: data.text,
        content_hash: data.contentHash,
        effective_from: data.effectiveFrom,
        created_at: data.createdAt,
      }),
      patch(consentTypes, { consent_type_id: data.consentTypeId }, { stream_revision: revision }),
    ],
    ConsentTypeUsed: ({ data, revision }) => [
      patch(consentTypes, { consent_type_id: data.consentTypeId }, { stream_revision: revision }),
    ],
  },
})
