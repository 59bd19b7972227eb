import { Type, type Static } from 'typebox'
import { DistinctList } from '../../platform/http/distinct-items.ts'
import { Text, Uuid } from '../../platform/http/members.ts'
import type { MemberError } from '../../platform/http/problems.ts'
import type { Person } from '../../streams/patient/events.ts'

const name = Text(255)

const patientMembers = {
  given_name: name,
  family_name: name,
  dob: Type.String({
    format: 'date',
    description: 'Calendar date, 1850 or later, not in the future',
    documented: { pattern: '^(18[5-9]|19[0-9]|20[0-9])[0-9]-[0-9]{2}-[0-9]{2}$' },
  }),
  identifiers: Type.Optional(
    DistinctList(Type.Object({ scheme: name, value: name }, { additionalProperties: false }), { maxItems: 50 }),
  ),
}

export const RegisterPatientBody = Type.Object(patientMembers, {
  $id: 'RegisterPatientBody',
  additionalProperties: false,
})
export type RegisterPatientBody = Static<typeof RegisterPatientBody>

export const CorrectPatientBody = Type.Partial(Type.Object(patientMembers), {
  $id: 'CorrectPatientBody',
  additionalProperties: false,
})
export type CorrectPatientBody = Static<typeof CorrectPatientBody>

export const InlinePatient = Type.Object(patientMembers, { additionalProperties: false })

/** The person that a body describes. */
export function personOf({ given_name, family_name, dob, identifiers = [] }: Static<typeof InlinePatient>): Person {
  return { givenName: given_name, familyName: family_name, dob, identifiers }
}

const CustomFields = Type.Record(Type.String(), Type.String({ maxLength: 1024 }), {
  maxProperties: 50,
  // The key schema of a TypeBox record becomes a pattern only. Its length would not be checked.
  propertyNames: { type: 'string', maxLength: 64 },
})

/** Free-form members of a request about a lesion. `freeFormErrors` checks depth and size. */
export const freeForm = {
  external_reference: Type.Optional(Type.String({ maxLength: 255 })),
  clinical_context: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description: 'At most 16 levels and 64 KiB. Numbers follow the rule for all bodies',
    }),
  ),
  custom_fields: Type.Optional(CustomFields),
}

export const OpenCaseBody = Type.Object(
  {
    patient_id: Uuid,
    product_id: Type.Optional(Uuid),
    workflow_definition_id: Type.Optional(
      Type.String({ format: 'uuid', description: 'Starts an instance of its newest version with the case' }),
    ),
    ...freeForm,
  },
  { $id: 'OpenCaseBody', additionalProperties: false },
)
export type OpenCaseBody = Static<typeof OpenCaseBody>

const earliestBirth = '1850-01-01'

/** Limits of a date of birth that the schema cannot express. "Today" is today at UTC+14, the earliest time zone. */
export function birthErrors(dob: string, pointer: string, now: Date): MemberError[] {
  const latest = new Date(now.getTime() + 14 * 3_600_000).toISOString().slice(0, 10)
  if (dob < earliestBirth) return [{ pointer, detail: 'must not be before 1850', code: 'too-early' }]
  return dob > latest ? [{ pointer, detail: 'must not be in the future', code: 'in-the-future' }] : []
}

const freeFormBytes = 64 * 1024
const freeFormDepth = 16

/** Size and depth of `clinical_context` (specification 8). */
export function freeFormErrors(body: {
  readonly clinical_context?: Record<string, unknown> | undefined
}): MemberError[] {
  const { clinical_context: context } = body
  return context === undefined ? [] : sizeErrors(context, '/clinical_context')
}

/** Size and depth of a free-form member. */
export function sizeErrors(value: Readonly<Record<string, unknown>>, pointer: string): MemberError[] {
  if (depthOf(value) > freeFormDepth)
    return [{ pointer, detail: 'must not be nested deeper than 16 levels', code: 'too-deep' }]
  const size = Buffer.byteLength(JSON.stringify(value))
  return size > freeFormBytes ? [{ pointer, detail: 'must not exceed 64 KiB', code: 'too-large' }] : []
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Object.values(value).reduce<number>((deepest, member) => Math.max(deepest, depthOf(member)), 0)
}
