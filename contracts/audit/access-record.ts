import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { PurposeOfUse } from '../../streams/access-log/events.ts'
import { PersonalCategory } from '../../streams/types.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

const shown = {
  operation: Type.String({ description: '`operationId` of the route; `webhook` and `email` for messages' }),
  categories: Type.Array(PersonalCategory),
  purpose: Nullable(PurposeOfUse),
  count: Type.Integer({ minimum: 1, description: 'Answers within the window, the first one included' }),
}

/** Who saw personal content, for auditors. */
export const AccessRecord = Type.Object(
  {
    id: Uuid,
    at: Instant,
    org_id: Uuid,
    client_id: Nullable(Type.String({ description: 'Null for messages, and for commands of the operator' })),
    user_id: Nullable(Type.String({ description: 'The user behind the client, or the recipient of a mail' })),
    patient_ids: Type.Array(Uuid),
    subject_user_id: Nullable(Uuid, { description: 'The user whose contact was shown' }),
    categories: shown.categories,
    operation: shown.operation,
    purpose: shown.purpose,
    request_id: Nullable(Type.String({ description: 'Of a message the id of the delivery or of the notification' })),
    source_address: Nullable(Type.String()),
    count: shown.count,
  },
  { $id: 'AccessRecord' },
)
export type AccessRecord = Static<typeof AccessRecord>

export function toAccessRecord(
  access: Omit<ValuesOf<typeof AccessRecord>, 'id'> & { readonly accessId: string },
): AccessRecord {
  return toRecord(AccessRecord, { ...access, id: access.accessId })
}

/** The same for the person whose content was shown. */
export const OwnAccessRecord = Type.Object(
  {
    at: Instant,
    organisation: Type.String({
      description: 'The id of the organisation. The platform has no names of organisations',
    }),
    client: Nullable(Type.String({ description: 'The name of the client' })),
    user: Nullable(Type.String({ description: 'The name of the user behind the client. Null after an erasure' })),
    ...shown,
  },
  { $id: 'OwnAccessRecord' },
)
