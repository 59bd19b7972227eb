import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import { UserType } from '../../streams/user/events.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

const nullableText = Nullable(Type.String())

export const UserStatus = Type.Enum(['active', 'suspended', 'deactivated'])

/**
 * Specification 2.4. `email` is null where the caller may not see it. Other nullable members are null after an erasure only,
 * but for `locale`.
 */
const user = {
  id: Uuid,
  externalId: Type.String(),
  email: nullableText,
  displayName: nullableText,
  locale: nullableText,
  userType: UserType,
  status: UserStatus,
  createdAt: Instant,
  updatedAt: Instant,
}
export const UserRecord = Type.Object(user, { $id: 'UserRecord' })
export type UserRecord = Static<typeof UserRecord>

const ofUser = { id: Uuid, userId: Uuid, createdAt: Instant, updatedAt: Instant }

export const PractitionerProfileRecord = Type.Object(
  {
    ...ofUser,
    professionalId: nullableText,
    professionalIdType: nullableText,
    speciality: nullableText,
    credentials: nullableText,
  },
  { $id: 'PractitionerProfileRecord' },
)

export const PatientAccountRecord = Type.Object(
  {
    ...ofUser,
    clinicalPatientId: nullableText,
    contactPreferences: Nullable(Type.Record(Type.String(), Type.Boolean())),
  },
  { $id: 'PatientAccountRecord' },
)

/** A membership with the name of its role and the products that it has access to. */
export const MembershipRecord = Type.Object(
  {
    id: Uuid,
    userId: Uuid,
    organisationId: Uuid,
    roleId: Uuid,
    role: Type.Object({ id: Uuid, name: Type.String() }),
    products: Type.Array(Type.String()),
    createdAt: Instant,
  },
  { $id: 'MembershipRecord' },
)
export type MembershipRecord = Static<typeof MembershipRecord>

/** A user with its memberships, as far as the caller may see them. */
export const UserDetailRecord = Type.Object(
  {
    ...user,
    memberships: Type.Array(MembershipRecord),
    practitionerProfile: Type.Optional(PractitionerProfileRecord),
    patientAccount: Type.Optional(PatientAccountRecord),
  },
  { $id: 'UserDetailRecord' },
)
export type UserDetailRecord = Static<typeof UserDetailRecord>

/** The own profile of an actor. */
export const OwnUserRecord = Type.Object(
  {
    ...UserDetailRecord.properties,
    roles: Type.Array(Type.Object({ id: Uuid, name: Type.String() })),
    permissions: Type.Array(Type.String()),
  },
  { $id: 'OwnUserRecord' },
)

export const UserContactRecord = Type.Object(
  { userId: Uuid, email: nullableText, displayName: nullableText, locale: nullableText, status: UserStatus },
  { $id: 'UserContactRecord', ...personal('contact') },
)

export const RoleRecord = Type.Object(
  {
    id: Uuid,
    organisationId: Uuid,
    name: Type.String(),
    description: nullableText,
    isDefault: Type.Boolean(),
    permissions: Type.Array(Type.String()),
    createdAt: Instant,
    updatedAt: Instant,
  },
  { $id: 'RoleRecord' },
)
export type RoleRecord = Static<typeof RoleRecord>

export const PermissionRecord = Type.Object(
  {
    id: Uuid,
    permission: Type.String(),
    serviceId: Type.String(),
    description: nullableText,
    createdAt: Instant,
    updatedAt: Instant,
  },
  { $id: 'PermissionRecord' },
)
export type PermissionRecord = Static<typeof PermissionRecord>

export const ProductAccessRecord = Type.Object(
  { id: Uuid, orgMembershipId: Uuid, productId: Type.String(), createdAt: Instant },
  { $id: 'ProductAccessRecord' },
)

type UserValues = Omit<ValuesOf<typeof UserRecord>, 'id'> & { readonly userId: string }

export function toUserRecord(values: UserValues): UserRecord {
  return toRecord(UserRecord, { ...values, id: values.userId })
}

type Profiles = {
  readonly practitionerProfile: Omit<ValuesOf<typeof PractitionerProfileRecord>, 'userId'> | null
  readonly patientAccount: Omit<ValuesOf<typeof PatientAccountRecord>, 'userId'> | null
}

export function toUserDetailRecord(
  values: UserValues & Profiles,
  memberships: readonly MembershipRecord[],
): UserDetailRecord {
  const { userId, practitionerProfile, patientAccount } = values
  return {
    ...toUserRecord(values),
    memberships: [...memberships],
    ...(practitionerProfile === null
      ? {}
      : { practitionerProfile: toRecord(PractitionerProfileRecord, { ...practitionerProfile, userId }) }),
    ...(patientAccount === null
      ? {}
      : { patientAccount: toRecord(PatientAccountRecord, { ...patientAccount, userId }) }),
  }
}

export function toRoleRecord(
  values: Omit<ValuesOf<typeof RoleRecord>, 'id'> & { readonly roleId: string },
): RoleRecord {
  return toRecord(RoleRecord, { ...values, id: values.roleId })
}
