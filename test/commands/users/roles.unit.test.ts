import { describe, expect, test } from 'vitest'
import {
  assignRole,
  changeMembershipRole,
  confirmMembership,
  endHold,
  endUnassigned,
  holdMembership,
  releaseMembership,
  revokeMembership,
} from '../../../commands/users/role-assignments.ts'
import { changeRole, createRole, deleteRole } from '../../../commands/users/roles.ts'
import { organisationRoles } from '../../../streams/organisation-roles/aggregate.ts'
import { at, hash, ids } from '../../streams/facts.ts'
import { roleFact, userIds } from '../../streams/user-facts.ts'
import { given } from '../../support/given-decider.ts'

const now = new Date(at(60))
const by = { changedBy: ids.client, grantor: 'platform' } as const
const { changedBy } = by
const organisationId = ids.org
const { role: roleId, adminRole, membership: membershipId, user: userId, otherUser } = userIds
const otherMembership = '00000000-0000-4000-8000-000000000091'

const administrators = roleFact('RoleCreated', {
  roleId: adminRole,
  name: 'Administrator',
  isDefault: false,
  permissions: ['users:admin'],
})
const assigned = (changes = {}) => roleFact('MembershipRoleAssigned', changes)
const asAdministrator = assigned({ roleId: adminRole })
const other = { membershipId: otherMembership, userId: otherUser }
const confirmed = roleFact('MembershipConfirmed')
const oneAdministrator = [roleFact('RoleCreated'), administrators, asAdministrator, confirmed]
const twoAdministrators = [
  ...oneAdministrator,
  assigned({ ...other, roleId: adminRole }),
  roleFact('MembershipConfirmed', other),
]
const membership = { membershipId, organisationId, now }

describe('roles', () => {
  const { createdAt: _, previousDefaultRoleId: __, ...data } = roleFact('RoleCreated').data
  const create = { ...data, grantor: by.grantor, now }

  test('a role is created with sorted permissions, each once', () => {
    given(organisationRoles)
      .when(createRole, { ...create, permissions: ['b:c:d', 'a:b:c', 'b:c:d'] })
      .thenEvents([roleFact('RoleCreated', { permissions: ['a:b:c', 'b:c:d'], createdAt: at(60) })])
  })

  test('a new default role replaces the previous one', () => {
    const after = given(organisationRoles, roleFact('RoleCreated'))
      .when(createRole, { ...create, roleId: adminRole, name: 'Other' })
      .thenEvents([
        roleFact('RoleCreated', {
          roleId: adminRole,
          name: 'Other',
          previousDefaultRoleId: roleId,
          createdAt: at(60),
        }),
      ])
    expect([...after.roles.values()].map((role) => [role.name, role.isDefault, role.revision])).toEqual([
      ['Clinician', false, 1],
      ['Other', true, 1],
    ])
  })

  test('a name is unique in the organisation', () => {
    given(organisationRoles, roleFact('RoleCreated'))
      .when(createRole, { ...create, roleId: adminRole, fingerprint: null })
      .thenRefused('role-name-in-use')
    given(organisationRoles, roleFact('RoleCreated'), administrators)
      .when(changeRole, { roleId: adminRole, name: 'Clinician', ...by, now })
      .thenRefused('role-name-in-use')
  })

  test('an organisation has at most 500 roles', () => {
    const some = (count: number) =>
      Array.from({ length: count }, (_, n) =>
        roleFact('RoleCreated', { roleId: `role-${n}`, name: `Role ${n}`, isDefault: false }),
      )
    given(organisationRoles, ...some(500))
      .when(createRole, create)
      .thenRefused('role-limit')
    given(organisationRoles, ...some(499))
      .when(createRole, create)
      .thenEvents([roleFact('RoleCreated', { createdAt: at(60) })])
  })

  test('names are compared in NFC without surrounding blanks, and stored as given', () => {
    const named = roleFact('RoleCreated', { name: 'Infirmi\u00e8re' })
    const name = '\u00a0Infirmie\u0300re '
    given(organisationRoles, named)
      .when(createRole, { ...create, name, roleId: adminRole, fingerprint: null })
      .thenRefused('role-name-in-use')
    given(organisationRoles, named, administrators)
      .when(changeRole, { roleId: adminRole, name, ...by, now })
      .thenRefused('role-name-in-use')
    const renamed = changeRole({ roleId, name, ...by, now }, given(organisationRoles, named).state)
    expect(renamed).toMatchObject([{ type: 'RoleChanged', data: { name } }])
  })

  test('the same key with another body is refused, and so is the key of a deleted role', () => {
    given(organisationRoles, roleFact('RoleCreated'))
      .when(createRole, { ...create, fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
    given(organisationRoles, roleFact('RoleCreated'), roleFact('RoleDeleted'))
      .when(createRole, create)
      .thenRefused('role-deleted')
  })

  test('a change names the added and the removed permissions', () => {
    given(organisationRoles, roleFact('RoleCreated'))
      .when(changeRole, { roleId, permissions: ['users:admin'], ...by, now })
      .thenEvents([
        roleFact('RoleChanged', {
          permissions: ['users:admin'],
          addedPermissions: ['users:admin'],
          removedPermissions: ['clinic:patients:read'],
          changedAt: at(60),
        }),
      ])
  })

  test('a role in use is not deleted, also before the membership is confirmed', () => {
    given(organisationRoles, roleFact('RoleCreated'), assigned())
      .when(deleteRole, { roleId, changedBy, now })
      .thenRefused('role-in-use')
    given(organisationRoles, roleFact('RoleCreated'), assigned(), roleFact('MembershipReleased'))
      .when(deleteRole, { roleId, changedBy, now })
      .thenEvents([roleFact('RoleDeleted', { deletedAt: at(60) })], 'not-found')
  })
})

describe('memberships', () => {
  const assign = { membershipId, userId, organisationId, roleId: undefined, fingerprint: hash('f'), ...by, now }

  test('without a named role, the default role is assigned', () => {
    given(organisationRoles, roleFact('RoleCreated'))
      .when(assignRole, assign)
      .thenEvents([assigned({ assignedAt: at(60) })])
    given(organisationRoles, administrators).when(assignRole, assign).thenRefused('no-default-role')
  })

  test('a role of another organisation is refused as an unknown one', () => {
    given(organisationRoles, roleFact('RoleCreated'))
      .when(assignRole, { ...assign, roleId: adminRole })
      .thenRefused('role-organisation-mismatch')
  })

  test('a user has one membership in an organisation, also before it is confirmed', () => {
    given(organisationRoles, roleFact('RoleCreated'), assigned())
      .when(assignRole, { ...assign, membershipId: otherMembership })
      .thenRefused('membership-exists')
  })

  test('an ended membership does not come back by its key', () => {
    given(organisationRoles, roleFact('RoleCreated'), assigned(), confirmed, roleFact('MembershipRevoked'))
      .when(assignRole, assign)
      .thenRefused('membership-ended')
  })

  test('a confirmed membership is not released', () => {
    given(organisationRoles, roleFact('RoleCreated'), assigned(), confirmed)
      .when(releaseMembership, membership)
      .thenNothing()
  })
})

describe('the last administrator', () => {
  const toClinician = { ...membership, roleId, ...by }
  const hold = { ...membership, holdId: userIds.hold }

  test('keeps its role, its membership and its status', () => {
    given(organisationRoles, ...oneAdministrator)
      .when(changeMembershipRole, toClinician)
      .thenRefused('last-administrator')
    given(organisationRoles, ...oneAdministrator)
      .when(revokeMembership, { ...membership, ...by })
      .thenRefused('last-administrator')
    given(organisationRoles, ...oneAdministrator)
      .when(holdMembership, hold)
      .thenRefused('last-administrator')
  })

  test('keeps `users:admin` in its role', () => {
    given(organisationRoles, ...oneAdministrator)
      .when(changeRole, { roleId: adminRole, permissions: [], ...by, now })
      .thenRefused('last-administrator')
  })

  test('is not the last one while another active member administers', () => {
    given(organisationRoles, ...twoAdministrators)
      .when(changeMembershipRole, toClinician)
      .thenEvents([roleFact('MembershipRoleChanged', { previousRoleId: adminRole, roleId, changedAt: at(60) })])
  })

  test('is the last one if the other is not confirmed or has a hold', () => {
    given(organisationRoles, ...oneAdministrator, assigned({ ...other, roleId: adminRole }))
      .when(changeMembershipRole, toClinician)
      .thenRefused('last-administrator')
    given(organisationRoles, ...twoAdministrators, roleFact('MembershipHeld', other))
      .when(changeMembershipRole, toClinician)
      .thenRefused('last-administrator')
  })
})

describe('a role with auth:admin', () => {
  const restricted = roleFact('RoleCreated', {
    roleId: adminRole,
    name: 'Administrator',
    isDefault: false,
    permissions: ['auth:admin', 'users:admin'],
  })
  const roles = [roleFact('RoleCreated'), restricted]
  const holder = [...roles, asAdministrator, confirmed, assigned({ ...other, roleId: adminRole })]
  const twoHolders = [...holder, roleFact('MembershipConfirmed', other)]
  const lacking = { changedBy, grantor: 'other' } as const
  const holding = { changedBy, grantor: 'holder' } as const
  const assign = { membershipId, userId, organisationId, fingerprint: hash('f'), now }

  test('is made by platform callers only, and changed by a holder as long as it gets no auth:admin', () => {
    const { createdAt: _, previousDefaultRoleId: __, ...data } = restricted.data
    for (const grantor of ['holder', 'other'] as const) {
      given(organisationRoles)
        .when(createRole, { ...data, grantor, now })
        .thenRefused('restricted-permission')
      given(organisationRoles, roleFact('RoleCreated'))
        .when(changeRole, { roleId, permissions: ['auth:admin'], changedBy, grantor, now })
        .thenRefused('restricted-permission')
    }
    for (const changes of [{ permissions: ['users:admin'] }, { isDefault: true }])
      given(organisationRoles, ...roles)
        .when(changeRole, { roleId: adminRole, ...changes, ...lacking, now })
        .thenRefused('restricted-permission')
    const after = { roleId: adminRole, isDefault: false, addedPermissions: [], changedAt: at(60) }
    const kept = { name: 'Head', permissions: ['auth:admin', 'users:admin'] }
    given(organisationRoles, ...roles)
      .when(changeRole, { roleId: adminRole, ...kept, ...lacking, now })
      .thenEvents([roleFact('RoleChanged', { ...after, ...kept })])
    const fewer = { name: 'Administrator', permissions: ['users:admin'], removedPermissions: ['auth:admin'] }
    given(organisationRoles, ...roles)
      .when(changeRole, { roleId: adminRole, permissions: ['users:admin'], ...holding, now })
      .thenEvents([roleFact('RoleChanged', { ...after, ...fewer })])
  })

  test('is assigned and taken away by its holders only, also where it is the default role', () => {
    const isDefault = roleFact('RoleCreated', { ...restricted.data, isDefault: true })
    given(organisationRoles, ...roles)
      .when(assignRole, { ...assign, roleId: adminRole, ...lacking })
      .thenRefused('restricted-permission')
    given(organisationRoles, isDefault)
      .when(assignRole, { ...assign, roleId: undefined, ...lacking })
      .thenRefused('restricted-permission')
    given(organisationRoles, ...roles)
      .when(assignRole, { ...assign, roleId: adminRole, ...holding })
      .thenEvents([assigned({ roleId: adminRole, assignedAt: at(60) })])
    given(organisationRoles, ...roles, assigned(), confirmed)
      .when(changeMembershipRole, { ...membership, roleId: adminRole, ...lacking })
      .thenRefused('restricted-permission')
    given(organisationRoles, ...twoHolders)
      .when(changeMembershipRole, { ...membership, roleId, ...lacking })
      .thenRefused('restricted-permission')
    given(organisationRoles, ...twoHolders)
      .when(revokeMembership, { ...membership, ...lacking })
      .thenRefused('restricted-permission')
    given(organisationRoles, ...twoHolders)
      .when(changeMembershipRole, { ...membership, roleId, ...holding })
      .thenEvents([roleFact('MembershipRoleChanged', { previousRoleId: adminRole, roleId, changedAt: at(60) })])
  })
})

describe('the confirmation of an assignment that was released', () => {
  const lost = { userId, roleId, fingerprint: null, changedBy, assignedAt: at(1) }
  const releasedOnce = [roleFact('RoleCreated'), assigned(), roleFact('MembershipReleased')] as const
  const confirm = { ...membership, holdId: null, lost }

  test('assigns it again, from when the user had the membership', () => {
    given(organisationRoles, ...releasedOnce)
      .when(confirmMembership, confirm)
      .thenEvents([
        assigned({ fingerprint: null, changedBy, assignedAt: at(1) }),
        roleFact('MembershipConfirmed', { confirmedAt: at(60) }),
      ])
  })

  test('is none after a revocation', () => {
    given(organisationRoles, roleFact('RoleCreated'), assigned(), confirmed, roleFact('MembershipRevoked'))
      .when(confirmMembership, confirm)
      .thenEvents([])
  })

  test.each([
    ['the role is gone', [...releasedOnce, roleFact('RoleDeleted')], lost],
    ['the user has another membership', [...releasedOnce, assigned({ membershipId: otherMembership })], lost],
    ['nobody knows what it was', releasedOnce, null],
  ])('is none if %s', (_, facts, known) => {
    given(organisationRoles, ...facts)
      .when(confirmMembership, { ...confirm, lost: known })
      .thenEvents([])
  })
})

describe('the end of a membership that only the user has', () => {
  const end = { ...membership, userId, roleId, changedBy }

  test('comes first, so that no repeat of its key assigns it', () => {
    const released = [roleFact('RoleCreated'), assigned(), roleFact('MembershipReleased')]
    const revoked = roleFact('MembershipRevoked', { changedBy, revokedAt: at(60) })
    given(organisationRoles, ...released)
      .when(endUnassigned, end)
      .thenEvents([revoked])
    given(organisationRoles, ...released, revoked)
      .when(endUnassigned, end)
      .thenEvents([])
    given(organisationRoles, ...released, revoked)
      .when(assignRole, { ...membership, userId, roleId, fingerprint: hash('f'), ...by })
      .thenRefused('membership-ended')
  })

  test('is none if it was assigned again', () => {
    given(organisationRoles, roleFact('RoleCreated'), assigned()).when(endUnassigned, end).thenEvents([])
  })
})

describe('holds', () => {
  const hold = { ...membership, holdId: userIds.hold }
  const second = '00000000-0000-4000-8000-000000000092'

  test('the end of one hold leaves the others', () => {
    const after = given(
      organisationRoles,
      ...twoAdministrators,
      roleFact('MembershipHeld'),
      roleFact('MembershipHeld', { holdId: second }),
    )
      .when(endHold, hold)
      .thenEvents([roleFact('MembershipHoldEnded', { endedAt: at(60) })])
    expect([...(after.assignments.get(membershipId)?.holds ?? [])]).toEqual([second])
  })

  test('a hold that comes before the confirmation stays', () => {
    const after = given(organisationRoles, roleFact('RoleCreated'), assigned(), roleFact('MembershipHeld'))
      .when(confirmMembership, { ...membership, holdId: null, lost: null })
      .thenEvents([roleFact('MembershipConfirmed', { confirmedAt: at(60) })])
    expect(after.assignments.get(membershipId)).toMatchObject({ isConfirmed: true, holds: new Set([userIds.hold]) })
  })
})

test('the memberships of 20,000 patients with an account are folded one after another', () => {
  const { fold } = organisationRoles.of(ids.org)
  let state = fold.initialState
  for (let place = 0; place < 20_000; place += 1) {
    const own = { membershipId: `membership-${place}`, userId: `user-${place}` }
    const facts = [assigned(own), roleFact('MembershipConfirmed', own)]
    state = facts.reduce((before, fact) => fold.evolve(before, fact), state)
  }
  expect(state.assignments.size).toBe(20_000)
  expect(state.assignments.get('membership-7')).toMatchObject({ userId: 'user-7', isConfirmed: true })
})
