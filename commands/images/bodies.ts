import { Type, type Static } from 'typebox'
import { isBodySite } from '../../contracts/clinical/body-sites.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { furtherRule } from '../../platform/http/documented.ts'
import { Uuid } from '../../platform/http/members.ts'
import type { MemberError } from '../../platform/http/problems.ts'
import { CaptureType } from '../../streams/assessment/events.ts'
import { declaredUpload } from '../assessments/bodies.ts'
import { declaredTypeErrors } from '../assessments/image-checks.ts'

/** An image of a case, or of a patient without a case. If both are given, the patient must be that of the case. */
export const DeclareImageBody = Type.Object(
  {
    case_id: Type.Optional(Uuid),
    patient_id: Type.Optional(Uuid),
    capture_type: CaptureType,
    ...declaredUpload,
    body_site_id: Type.Optional(Uuid),
  },
  {
    $id: 'DeclareImageBody',
    additionalProperties: false,
    documented: furtherRule({ anyOf: [{ required: ['case_id'] }, { required: ['patient_id'] }] }),
  },
)
export type DeclareImageBody = Static<typeof DeclareImageBody>

/** Errors of a declaration that its schema cannot detect. */
export function declarationErrors(
  { mime_type, body_site_id: bodySiteId }: DeclareImageBody,
  { profile }: Pick<Configuration, 'profile'>,
): MemberError[] {
  const errors = declaredTypeErrors({ mime_type }, '')
  if (profile === 'production' && bodySiteId !== undefined && !isBodySite(bodySiteId)) {
    errors.push({ pointer: '/body_site_id', detail: 'is not a body site of the catalogue', code: 'unknown-body-site' })
  }
  return errors
}
