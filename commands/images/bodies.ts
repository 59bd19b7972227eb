import { Type, type Static } from 'typebox'
import { Uuid } from '../../platform/http/members.ts'

/** Of a case, or of a patient without one; both may be named where they agree. */
export const DeclareImageBody = Type.Object(
  {
    case_id: Type.Optional(Uuid),
    patient_id: Type.Optional(Uuid),
    capture_type: Type.Enum(['dermoscopic', 'macroscopic', 'other']),
    mime_type: Type.String({ maxLength: 255, description: 'image/jpeg or image/png, in any case' }),
    body_site_id: Type.Optional(Uuid),
  },
  { $id: 'DeclareImageBody', additionalProperties: false },
)
export type DeclareImageBody = Static<typeof DeclareImageBody>
