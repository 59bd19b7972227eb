import { Type } from 'typebox'
import type { OrganisationRolesEvent } from '../../streams/organisation-roles/events.ts'
import type { PermissionEvent } from '../../streams/permission/events.ts'
import { clinicalPatientOf } from '../../streams/user/aggregate.ts'
import { PatientAccount, PractitionerProfile, UserType, type UserEvent } from '../../streams/user/events.ts'
import { defineOpeningProjector, defineTable, sealed } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, patchRows, removeRow, removeRows } from '../../engine/projections/row-changes.ts'

/** Users belong to no organisation. Their memberships say which organisations see them. */
export const usersTable = defineTable({
  name: 'users',
  columns: {
    user_id: 'uuid',
    external_id: 'text',
    email: sealed(Type.String()),
    display_name: sealed(Type.String()),
    locale: { type: 'text', nullable: true },
    user_type: { type: 'text', values: UserType.enum },
    status: { type: 'text', values: ['active', 'suspended', 'deactivated', 'erased'] },
    practitioner_profile: sealed(PractitionerProfile),
    patient_account: sealed(PatientAccount),
    /** Of the patient account, by which the user is found. An id, and the only open part of a personal member. */
    clinical_patient_id: { type: 'text', nullable: true },
    /** Organisations of the user when it was erased. */
    former_org_ids: { type: 'jsonb', schema: Type.Array(Type.String()) },
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['user_id'],
  indexes: [{ columns: ['external_id'] }, { columns: ['clinical_patient_id'] }, { columns: ['created_at', 'user_id'] }],
})

/** A row is complete when both the organisation's stream and the user's stream have the membership. */
export const membershipsTable = defineTable({
  name: 'user_memberships',
  columns: {
    membership_id: 'uuid',
    org_id: 'uuid',
    user_id: 'uuid',
    role_id: 'uuid',
    created_at: 'timestamptz',
    is_added: 'boolean',
    /** Revision of the organisation's roles at the last change of this row. */
    roles_revision: 'bigint',
  },
  // The streams of two organisations could contain the same id. Neither may stop the projector.
  primaryKey: ['membership_id', 'org_id'],
  indexes: [{ columns: ['user_id'] }, { columns: ['org_id', 'user_id'] }, { columns: ['role_id'] }],
})

export const productAccessTable = defineTable({
  name: 'user_product_access',
  columns: {
    membership_id: 'uuid',
    product_id: 'text',
    org_id: 'uuid',
    user_id: 'uuid',
    product_access_id: 'uuid',
    granted_at: 'timestamptz',
  },
  primaryKey: ['membership_id', 'product_id'],
})

export const rolesTable = defineTable({
  name: 'user_roles',
  columns: {
    role_id: 'uuid',
    org_id: 'uuid',
    name: 'text',
    description: { type: 'text', nullable: true },
    is_default: 'boolean',
    permissions: { type: 'jsonb', schema: Type.Array(Type.String()) },
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['role_id', 'org_id'],
  indexes: [{ columns: ['org_id', 'created_at', 'role_id'] }],
})

export const permissionsTable = defineTable({
  name: 'registered_permissions',
  columns: {
    permission_id: 'uuid',
    permission: 'text',
    service_id: 'text',
    description: { type: 'text', nullable: true },
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
  },
  primaryKey: ['permission_id'],
  indexes: [{ columns: ['permission'], unique: true }],
})

function ofStatus(status: 'active' | 'suspended' | 'deactivated') {
  return ({ data, revision }: { data: { userId: string; changedAt: string }; revision: bigint }) => [
    patchRow(usersTable, { userId: data.userId, status, updatedAt: data.changedAt, streamRevision: revision }),
  ]
}

/** The ETag of a user is the revision of its stream, so events that change no other column count, too. */
function revisionOnly({ data, revision }: { data: { userId: string }; revision: bigint }) {
  return [patchRow(usersTable, { userId: data.userId, streamRevision: revision })]
}

/** There is no row before the user is created. */
const beforeRow = () => []

function membershipOf({ membershipId, organisationId }: { membershipId: string; organisationId: string }) {
  return { membershipId, orgId: organisationId }
}

/** The default role that another one replaces. */
function withoutDefault(
  {
    previousDefaultRoleId: roleId,
    organisationId: orgId,
  }: { previousDefaultRoleId: string | null; organisationId: string },
  updatedAt: string,
  streamRevision: bigint,
) {
  return roleId === null ? [] : [patchRow(rolesTable, { roleId, orgId, isDefault: false, updatedAt, streamRevision })]
}

/** Users, memberships, roles and permissions. One projector, because an actor's permissions need all of them at once. */
export const usersProjector = defineOpeningProjector<UserEvent | OrganisationRolesEvent | PermissionEvent>()({
  name: 'users',
  version: 4,
  tables: [usersTable, membershipsTable, productAccessTable, rolesTable, permissionsTable],
  handlers: {
    UserRegistrationStarted: beforeRow,
    UserRegistrationAbandoned: beforeRow,
    UserRegistrationClearAttempted: beforeRow,
    UserRegistrationCleared: beforeRow,
    UserCreated: ({ data, sealed: kept, revision }) => [
      insertRow(usersTable, {
        ...kept,
        clinicalPatientId: clinicalPatientOf(data),
        status: 'active',
        formerOrgIds: [],
        updatedAt: data.createdAt,
        streamRevision: revision,
      }),
    ],
    UserChanged: ({ data, sealed: kept, revision }) => [
      patchRow(usersTable, {
        ...kept,
        clinicalPatientId: clinicalPatientOf(data),
        updatedAt: data.changedAt,
        streamRevision: revision,
      }),
    ],
    UserSuspended: ofStatus('suspended'),
    UserDeactivated: ofStatus('deactivated'),
    UserReactivated: ofStatus('active'),
    UserErasureStarted: ({ data, revision }) => [
      patchRow(usersTable, {
        userId: data.userId,
        status: 'erased',
        email: null,
        displayName: null,
        locale: null,
        practitionerProfile: null,
        patientAccount: null,
        clinicalPatientId: null,
        formerOrgIds: data.organisationIds,
        updatedAt: data.changedAt,
        streamRevision: revision,
      }),
    ],
    UserKeyDestroyed: revisionOnly,
    UserErased: revisionOnly,
    UserHoldExpired: revisionOnly,
    UserPasswordResetRequested: revisionOnly,
    UserPasswordResetJoined: revisionOnly,
    UserPasswordResetAttempted: revisionOnly,
    UserPasswordResetPostponed: revisionOnly,
    UserPasswordResetEnded: revisionOnly,
    UserAccountAligned: revisionOnly,
    UserMembershipAdded: ({ data, revision }) => [
      // The organisation may have released the claim meanwhile.
      patchRows(membershipsTable, membershipOf(data), { isAdded: true, createdAt: data.addedAt }),
      patchRow(usersTable, { userId: data.userId, streamRevision: revision }),
    ],
    UserMembershipRemoved: ({ data, revision }) => [
      removeRow(membershipsTable, membershipOf(data)),
      removeRows(productAccessTable, { membershipId: data.membershipId }),
      patchRow(usersTable, { userId: data.userId, streamRevision: revision }),
    ],
    UserProductAccessGranted: ({ data, revision }) => [
      insertRow(productAccessTable, { ...data, orgId: data.organisationId }),
      patchRow(usersTable, { userId: data.userId, streamRevision: revision }),
    ],
    UserProductAccessJoined: revisionOnly,
    UserProductAccessRevoked: ({ data, revision }) => [
      removeRow(productAccessTable, { membershipId: data.membershipId, productId: data.productId }),
      patchRow(usersTable, { userId: data.userId, streamRevision: revision }),
    ],
    RoleCreated: ({ data, revision }) => [
      insertRow(rolesTable, {
        ...data,
        orgId: data.organisationId,
        updatedAt: data.createdAt,
        streamRevision: revision,
      }),
      ...withoutDefault(data, data.createdAt, revision),
    ],
    RoleChanged: ({ data, revision }) => [
      patchRow(rolesTable, {
        ...data,
        orgId: data.organisationId,
        updatedAt: data.changedAt,
        streamRevision: revision,
      }),
      ...withoutDefault(data, data.changedAt, revision),
    ],
    RoleDeleted: ({ data }) => [removeRow(rolesTable, { roleId: data.roleId, orgId: data.organisationId })],
    MembershipRoleAssigned: ({ data, revision }) => [
      insertRow(membershipsTable, {
        ...data,
        orgId: data.organisationId,
        createdAt: data.assignedAt,
        isAdded: false,
        rolesRevision: revision,
      }),
    ],
    MembershipRoleChanged: ({ data, revision }) => [
      patchRow(membershipsTable, { ...membershipOf(data), roleId: data.roleId, rolesRevision: revision }),
    ],
    // A claim that was released after the user had the membership comes again, and the user's event does not.
    MembershipConfirmed: ({ data }) => [patchRows(membershipsTable, membershipOf(data), { isAdded: true })],
    MembershipReleased: ({ data }) => [removeRow(membershipsTable, membershipOf(data))],
    MembershipRevoked: ({ data }) => [
      removeRow(membershipsTable, membershipOf(data)),
      removeRows(productAccessTable, { membershipId: data.membershipId }),
    ],
    PermissionsRegistered: ({ data }) => [
      ...data.created.map((one) =>
        insertRow(permissionsTable, {
          ...one,
          serviceId: data.serviceId,
          createdAt: data.registeredAt,
          updatedAt: data.registeredAt,
        }),
      ),
      ...data.updated.map((one) => patchRow(permissionsTable, { ...one, updatedAt: data.registeredAt })),
    ],
  },
})
