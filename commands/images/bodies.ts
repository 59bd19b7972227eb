import { Type, type Static } from 'typebox'
import { Uuid } from '../../platform/http/members.ts'
import { declaredUpload } from '../assessments/bodies.ts'

/** Of a case, or of a patient without one; both may be named where they agree. */
export const DeclareImageBody = Type.Object(
  {
    case_id: Type.Optional(Uuid),
    patient_id: Type.Optional(Uuid),
    capture_type: Type.Enum(['dermoscopic', 'macroscopic', 'other']),
    ...declaredUpload,
    body_site_id: Type.Optional(Uuid),
  },
  { $id: 'DeclareImageBody', additionalProperties: false },
)
export type DeclareImageBody = Static<typeof DeclareImageBody>
