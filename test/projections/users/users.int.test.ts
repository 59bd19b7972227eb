import { describe, expect, it } from 'vitest'
import { usersProjector } from '../../../projections/users/users.projector.ts'
import type { GivenEvent } from '../../support/given-projector.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'
import { at, ids } from '../../streams/facts.ts'
import {
  ofPermissions,
  ofRoles,
  ofUser,
  permissionFact,
  roleFact,
  userFact,
  userIds,
} from '../../streams/user-facts.ts'

const after = async (...events: readonly GivenEvent[]) => rowsAfter(usersProjector, recorded(events))

const joined = [
  ofRoles(roleFact('RoleCreated')),
  ofRoles(roleFact('MembershipRoleAssigned')),
  ofUser(userFact('UserCreated')),
  ofUser(userFact('UserMembershipAdded')),
  ofRoles(roleFact('MembershipConfirmed')),
  ofUser(userFact('UserProductAccessGranted')),
]
const membership = {
  membership_id: userIds.membership,
  org_id: ids.org,
  user_id: userIds.user,
  role_id: userIds.role,
  created_at: at(1),
  is_added: true,
  roles_revision: '1',
}

describe('the users read model', () => {
  it('has a user with membership and product access', async () => {
    const { users, user_memberships: memberships, user_product_access: access } = await after(...joined)
    const { practitionerProfile } = userFact('UserCreated').data
    expect(users).toEqual([
      {
        user_id: userIds.user,
        clinical_patient_id: null,
        external_id: 'provider-subject-1',
        email: 'canary-address@example.org',
        display_name: 'canary-name',
        locale: 'en-GB',
        user_type: 'clinician',
        status: 'active',
        practitioner_profile: practitionerProfile,
        patient_account: null,
        former_org_ids: [],
        created_at: at(1),
        updated_at: at(1),
        stream_revision: '2',
      },
    ])
    expect(memberships).toEqual([membership])
    expect(access).toEqual([
      {
        membership_id: userIds.membership,
        product_id: ids.product,
        org_id: ids.org,
        user_id: userIds.user,
        product_access_id: userIds.productAccess,
        granted_at: at(2),
      },
    ])
  })

  it('shows a claim as not added, and nothing of a released one', async () => {
    const claim = joined.slice(0, 3)
    expect((await after(...claim))['user_memberships']).toMatchObject([{ is_added: false }])
    const late = [ofRoles(roleFact('MembershipReleased')), ofUser(userFact('UserMembershipAdded'))]
    const { users, user_memberships: memberships } = await after(...claim, ...late)
    expect(memberships).toEqual([])
    expect(users).toMatchObject([{ stream_revision: '1' }])
  })

  it('shows a membership whose claim was released and made again', async () => {
    const released = [...joined.slice(0, 2), ofRoles(roleFact('MembershipReleased'))]
    const again = roleFact('MembershipRoleAssigned', { assignedAt: at(1) })
    const { user_memberships: memberships } = await after(
      ...released,
      ...joined.slice(2, 4),
      ofRoles(again),
      ofRoles(roleFact('MembershipConfirmed')),
    )
    expect(memberships).toEqual([{ ...membership, roles_revision: '3' }])
  })

  it('follows the role and the status', async () => {
    const story = [
      ...joined,
      ofUser(userFact('UserChanged')),
      ofRoles(roleFact('MembershipRoleChanged')),
      ofUser(userFact('UserProductAccessRevoked')),
      ofUser(userFact('UserSuspended')),
    ]
    const { users, user_memberships: memberships, user_product_access: access } = await after(...story)
    expect(users).toMatchObject([{ display_name: 'canary-new-name', status: 'suspended', updated_at: at(10) }])
    expect(memberships).toEqual([{ ...membership, role_id: userIds.adminRole, roles_revision: '3' }])
    expect(access).toEqual([])
    const statusAfter = async (...events: GivenEvent[]) => (await after(...joined, ...events))['users']?.[0]?.['status']
    expect(await statusAfter(ofUser(userFact('UserDeactivated')))).toBe('deactivated')
    const reactivated = [ofUser(userFact('UserDeactivated')), ofUser(userFact('UserReactivated'))]
    expect(await statusAfter(...reactivated)).toBe('active')
  })

  it('has no membership after either stream has ended it', async () => {
    const revoked = ofRoles(roleFact('MembershipRevoked'))
    const removed = ofUser(userFact('UserMembershipRemoved'))
    for (const ends of [[revoked], [removed], [revoked, removed]])
      expect(await after(...joined, ...ends)).toMatchObject({ user_memberships: [], user_product_access: [] })
  })

  it('has only the id of an erased user, its organisations and its times', async () => {
    const { users } = await after(...joined, ofUser(userFact('UserErasureStarted')))
    expect(users).toMatchObject([
      {
        status: 'erased',
        email: null,
        display_name: null,
        locale: null,
        practitioner_profile: null,
        patient_account: null,
        former_org_ids: [ids.org],
        updated_at: at(50),
      },
    ])
  })

  it('has the roles, of which one is the default', async () => {
    const { roleId } = roleFact('RoleCreated').data
    const second = { roleId: userIds.adminRole, name: 'Administrator', previousDefaultRoleId: roleId, createdAt: at(3) }
    const story = [ofRoles(roleFact('RoleCreated')), ofRoles(roleFact('RoleCreated', second))]
    const first = { role_id: roleId, name: 'Clinician', is_default: false, updated_at: at(3), stream_revision: '1' }
    expect((await after(...story))['user_roles']).toMatchObject([first, { is_default: true, stream_revision: '1' }])
    const changed = ofRoles(roleFact('RoleChanged', { previousDefaultRoleId: userIds.adminRole }))
    expect((await after(...story, changed))['user_roles']).toMatchObject([
      { permissions: ['clinic:patients:read', 'users:admin'], is_default: true, stream_revision: '2' },
      { is_default: false, updated_at: at(4), stream_revision: '2' },
    ])
    const deleted = ofRoles(roleFact('RoleDeleted'))
    expect((await after(...story, deleted))['user_roles']).toMatchObject([{ role_id: userIds.adminRole }])
  })

  it('keeps equal ids of two organisations apart', async () => {
    const elsewhere = [
      roleFact('RoleCreated', { organisationId: ids.otherOrg }),
      roleFact('MembershipRoleAssigned', { organisationId: ids.otherOrg }),
    ].map((event) => ({ ...event, stream: 'roles elsewhere' }))
    const { user_roles: roles, user_memberships: memberships } = await after(...joined, ...elsewhere)
    expect(roles).toHaveLength(2)
    expect(memberships).toMatchObject([membership, { org_id: ids.otherOrg, is_added: false }])
  })

  it('has each permission with its newest description', async () => {
    const { permissionId, permission } = permissionFact('PermissionsRegistered').data.created[0] ?? {}
    const updated = [{ permissionId: String(permissionId), permission: String(permission), description: null }]
    const again = permissionFact('PermissionsRegistered', { created: [], updated, registeredAt: at(5) })
    const { registered_permissions: rows } = await after(
      ofPermissions(permissionFact('PermissionsRegistered')),
      ofPermissions(again),
    )
    expect(rows).toEqual([
      {
        permission_id: userIds.permission,
        permission: 'clinic:patients:read',
        service_id: 'clinic',
        description: null,
        created_at: at(0),
        updated_at: at(5),
      },
    ])
  })
})
