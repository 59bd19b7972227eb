import { Type } from 'typebox'
import { DistinctList } from '../../platform/http/distinct-items.ts'
import { localeDocumented, Nullable, Text, Uuid } from '../../platform/http/members.ts'
import { distinctItems, noneOf } from '../../platform/kit/documented-rules.ts'
import { mailAddressPattern, mostAddressCharacters } from '../../platform/kit/mail-address.ts'
import { UserStatus } from '../../contracts/users/record.ts'
import { UserType } from '../../streams/user/events.ts'

const optionalText = Type.Optional(Nullable(Text(255)))

export const Email = Type.String({
  maxLength: mostAddressCharacters,
  pattern: mailAddressPattern,
  description:
    'An address to which mails are sent: `local@domain` with a local part in ASCII. Blanks around it are removed. A domain in another script is kept in its `xn--` form. Compared without case.',
})
/** BCP 47, such as `en-GB`. */
const Locale = Type.String({
  pattern: '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,8}$',
  maxLength: 35,
  documented: localeDocumented,
})
const ContactPreferences = Type.Record(Type.String({ minLength: 1, maxLength: 64 }), Type.Boolean(), {
  maxProperties: 20,
  description: 'True or false for each channel',
})

const PractitionerProfileBody = Type.Object(
  {
    professionalId: optionalText,
    professionalIdType: optionalText,
    speciality: optionalText,
    credentials: optionalText,
  },
  { $id: 'PractitionerProfileBody', additionalProperties: false },
)
const PatientAccountBody = Type.Object(
  { clinicalPatientId: optionalText, contactPreferences: Type.Optional(Nullable(ContactPreferences)) },
  { $id: 'PatientAccountBody', additionalProperties: false },
)
const profiles = {
  locale: Type.Optional(Nullable(Locale)),
  practitionerProfile: Type.Optional(PractitionerProfileBody),
  patientAccount: Type.Optional(PatientAccountBody),
}

const typesBut = (type: UserType) => ({ userType: { enum: UserType.enum.filter((other) => other !== type) } })

export const CreateUserBody = Type.Object(
  {
    email: Email,
    displayName: Text(255),
    userType: UserType,
    organisationId: Type.Optional(Uuid),
    roleId: Type.Optional(Uuid),
    ...profiles,
  },
  {
    $id: 'CreateUserBody',
    additionalProperties: false,
    documented: noneOf(
      { required: ['practitionerProfile'], properties: typesBut('clinician') },
      { required: ['patientAccount'], properties: typesBut('patient') },
    ),
  },
)

export const ChangeUserBody = Type.Object(
  {
    email: Type.Optional(Email),
    displayName: Type.Optional(Text(255)),
    status: Type.Optional(UserStatus),
    ...profiles,
  },
  {
    $id: 'ChangeUserBody',
    additionalProperties: false,
    documented: noneOf({ required: ['practitionerProfile', 'patientAccount'] }),
  },
)

export const ChangeMeBody = Type.Object(
  {
    displayName: Type.Optional(Text(255)),
    locale: profiles.locale,
    contactPreferences: Type.Optional(Nullable(ContactPreferences)),
  },
  { $id: 'ChangeMeBody', additionalProperties: false },
)

export const AddMembershipBody = Type.Object(
  { organisationId: Uuid, roleId: Type.Optional(Uuid) },
  { $id: 'AddMembershipBody', additionalProperties: false },
)
export const ChangeMembershipBody = Type.Object(
  { roleId: Uuid },
  { $id: 'ChangeMembershipBody', additionalProperties: false },
)
export const GrantProductBody = Type.Object(
  // A client removes the segments `.` and `..` from a path, so such an access could not be revoked.
  {
    productId: Text(255, {
      pattern: '^(?!\\.{1,2}$)',
      description: 'With at least one visible character, and not `.` or `..`',
    }),
  },
  { $id: 'GrantProductBody', additionalProperties: false },
)

const Permissions = DistinctList(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: 500 })

export const CreateRoleBody = Type.Object(
  {
    organisationId: Uuid,
    name: Text(255),
    description: optionalText,
    isDefault: Type.Optional(Type.Boolean()),
    permissions: Type.Optional(Permissions),
  },
  { $id: 'CreateRoleBody', additionalProperties: false },
)
export const ChangeRoleBody = Type.Object(
  {
    name: Type.Optional(Text(255)),
    description: optionalText,
    isDefault: Type.Optional(Type.Boolean()),
    permissions: Type.Optional(Permissions),
  },
  { $id: 'ChangeRoleBody', additionalProperties: false },
)

/** Specification 4.3. `users:admin` and the like have two segments, so they cannot be registered. */
const permissionPattern = '^[a-z][a-z0-9_-]*:[a-z][a-z0-9_-]*:(?:\\*|[a-z][a-z0-9_-]*)$'

export const RegisterPermissionsBody = Type.Object(
  {
    serviceId: Type.String({ pattern: '^[a-z][a-z0-9_-]*$', maxLength: 255 }),
    permissions: Type.Array(
      Type.Object(
        {
          permission: Type.String({ pattern: permissionPattern, maxLength: 255 }),
          description: Type.Optional(Nullable(Text(1000))),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: 500, documented: distinctItems },
    ),
  },
  { $id: 'RegisterPermissionsBody', additionalProperties: false },
)
