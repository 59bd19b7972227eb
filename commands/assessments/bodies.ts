import { Type, type Static } from 'typebox'
import { furtherRule } from '../../platform/http/documented.ts'
import { Uuid } from '../../platform/http/members.ts'
import { CaptureType, FindingType } from '../../streams/assessment/events.ts'
import { freeForm, InlinePatient } from '../clinical/bodies.ts'
import { limits } from './image-checks.ts'

export const maxImages = 10

/** The members that declare an upload. */
export const declaredUpload = {
  mime_type: Type.String({
    maxLength: 255,
    description: 'image/jpeg or image/png, in any case',
    documented: { pattern: '^[Ii][Mm][Aa][Gg][Ee]/([Jj][Pp][Ee][Gg]|[Pp][Nn][Gg])$' },
  }),
  size_bytes: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: limits.imageBytes,
      description: 'Length of the upload. The upload_url then accepts no other length',
    }),
  ),
}

const base64 = { minLength: 4, pattern: '^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' }
const withData = { items: { required: ['data'] } }
const withoutData = { items: { not: { required: ['data'] } } }
const patientNames = [{ required: ['patient'] }, { required: ['patient_id'] }]

/** Specification 2.1. Exactly one of `patient` and `patient_id`. Either all images have `data`, or none has. */
export const CreateAssessmentBody = Type.Object(
  {
    patient: Type.Optional(InlinePatient),
    patient_id: Type.Optional(Uuid),
    finding: Type.Object(
      {
        finding_type: FindingType,
        body_site_id: Type.Optional(Uuid),
      },
      { additionalProperties: false },
    ),
    images: Type.Array(
      Type.Object(
        {
          capture_type: CaptureType,
          ...declaredUpload,
          data: Type.Optional(
            Type.String({ description: 'Base64 of the image, at most 20 MiB decoded', documented: base64 }),
          ),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: maxImages, documented: furtherRule({ oneOf: [withData, withoutData] }) },
    ),
    ...freeForm,
  },
  { $id: 'CreateAssessmentBody', additionalProperties: false, documented: furtherRule({ oneOf: patientNames }) },
)
export type CreateAssessmentBody = Static<typeof CreateAssessmentBody>
