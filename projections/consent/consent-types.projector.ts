import type { ConsentTypeEvent } from '../../streams/consent-type/events.ts'
import { parseOwnedStream } from '../../streams/aggregate.ts'
import { defineProjector, insert, patch, remove, removeWhere } from '../runtime/projector.ts'
import { consentTypes, textVersions } from './consent-types.table.ts'

export const consentTypesProjector = defineProjector<ConsentTypeEvent>()({
  name: 'consent_types',
  version: 2,
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
    ConsentTypeUpdated: ({ data, revision }) => [
      patch(
        consentTypes,
        { consent_type_id: data.consentTypeId },
        {
          display_name: data.displayName,
          description: data.description,
          required: data.required,
          updated_at: data.updatedAt,
          stream_revision: revision,
        },
      ),
    ],
    // Nobody has decided on it, so no row elsewhere leads here.
    ConsentTypeDeleted: ({ data }) => [
      removeWhere(textVersions, { consent_type_id: data.consentTypeId }),
      remove(consentTypes, { consent_type_id: data.consentTypeId }),
    ],
    ConsentTypeUsed: ({ data, revision }) => [
      patch(consentTypes, { consent_type_id: data.consentTypeId }, { stream_revision: revision }),
    ],
  },
})
