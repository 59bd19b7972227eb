import { describe, expect, test } from 'vitest'
import { checkUsers, usersUnderWay } from '../../../tools/torture/checks/users.ts'
import { exampleLog, type ExampleEvent } from '../../../tools/torture/example-log.ts'

const said = (...events: readonly ExampleEvent[]) => checkUsers(exampleLog(...events)).findings.map(({ what }) => what)

const roles: readonly ExampleEvent[] = [
  ['role-o1', 'RoleCreated', { roleId: 'administrator', permissions: ['users:admin'] }],
  ['role-o1', 'RoleCreated', { roleId: 'clinician', permissions: [] }],
]
const created = (userId: string): ExampleEvent => [`user-${userId}`, 'UserCreated', { userId }]
const assigned = (userId: string, roleId = 'administrator'): ExampleEvent => [
  'role-o1',
  'MembershipRoleAssigned',
  { membershipId: `m-${userId}`, userId, roleId },
]
const added = (userId: string): ExampleEvent => [
  `user-${userId}`,
  'UserMembershipAdded',
  { membershipId: `m-${userId}`, userId },
]
const inRoles = (type: string, userId: string, data: Record<string, unknown> = {}): ExampleEvent => [
  'role-o1',
  type,
  { membershipId: `m-${userId}`, userId, ...data },
]
const member = (userId: string, roleId?: string): readonly ExampleEvent[] => [
  assigned(userId, roleId),
  created(userId),
  added(userId),
  inRoles('MembershipConfirmed', userId, { holdId: null }),
]
const deactivated = (userId: string): readonly ExampleEvent[] => [
  inRoles('MembershipHeld', userId, { holdId: 'h1' }),
  [`user-${userId}`, 'UserDeactivated', { userId, holdId: 'h1' }],
]

describe('the check of users', () => {
  test('accepts users who come, are deactivated, are active again and leave', () => {
    const log = exampleLog(
      ...roles,
      ...member('u1'),
      ...member('u2'),
      ...deactivated('u2'),
      ['user-u2', 'UserReactivated', { userId: 'u2', holdId: 'h1' }],
      inRoles('MembershipHoldEnded', 'u2', { holdId: 'h1' }),
      inRoles('MembershipRevoked', 'u1'),
      ['user-u1', 'UserMembershipRemoved', { membershipId: 'm-u1', userId: 'u1' }],
      assigned('u3'),
      inRoles('MembershipReleased', 'u3'),
    )
    expect(checkUsers(log)).toMatchObject({ examined: 2, findings: [] })
    expect(usersUnderWay(log)).toEqual([])
  })

  test('finds a new user who lost a membership that was released, not revoked', () => {
    const [at, ofUser] = ['2026-03-01T09:00:00.000Z', { membershipId: 'm-u1', userId: 'u1' }]
    const log = [
      assigned('u1'),
      inRoles('MembershipReleased', 'u1'),
      ['user-u1', 'UserCreated', { userId: 'u1', createdAt: at }],
      ['user-u1', 'UserMembershipAdded', { ...ofUser, addedAt: at }],
    ] as const
    const removed = ['user-u1', 'UserMembershipRemoved', ofUser] as const
    const lost = ['a new user who lost a membership that nobody revoked']
    expect(said(...log, removed)).toEqual(lost)
    expect(said(...log, inRoles('MembershipRevoked', 'u1'), removed)).toEqual(lost)
    expect(said(...log, assigned('u1'), inRoles('MembershipRevoked', 'u1'), removed)).toEqual([])
  })

  test.each<readonly [string, readonly ExampleEvent[], readonly string[]]>([
    [
      'a membership that only the organisation has',
      [assigned('u1'), created('u1'), inRoles('MembershipConfirmed', 'u1')],
      ["a membership that the user's stream lacks"],
    ],
    [
      'a membership that only the user has',
      [created('u1'), added('u1')],
      ["a membership that the organisation's stream lacks"],
    ],
    [
      'a membership that is not confirmed',
      [assigned('u1'), created('u1'), added('u1')],
      ['a membership that is never confirmed'],
    ],
    [
      'a hold whose change of status never came',
      [...member('u1', 'clinician'), inRoles('MembershipHeld', 'u1', { holdId: 'h1' })],
      ['a hold of a user who does not need it'],
    ],
    [
      'a user who is not active and has no hold',
      [...member('u1', 'clinician'), ['user-u1', 'UserSuspended', { userId: 'u1', holdId: 'h1' }]],
      ['an inactive user without a hold'],
    ],
    [
      'a registration that is left open',
      [['user-u1', 'UserRegistrationStarted', { userId: 'u1' }]],
      ['a registration without an end'],
    ],
    [
      'a registration whose account may be left',
      [['user-u1', 'UserRegistrationAbandoned', { userId: 'u1' }]],
      ['a registration without an end'],
    ],
    [
      'an organisation whose last administrator was deactivated',
      [...member('u1'), ...deactivated('u1')],
      ['an organisation without an active administrator'],
    ],
    [
      'an organisation whose last administrator has another role',
      [...member('u1'), inRoles('MembershipRoleChanged', 'u1', { roleId: 'clinician' })],
      ['an organisation without an active administrator'],
    ],
    [
      'an organisation whose role of administrators administers no more',
      [...member('u1'), ['role-o1', 'RoleChanged', { roleId: 'administrator', permissions: [] }]],
      ['an organisation without an active administrator'],
    ],
  ])('finds %s', (_, events, findings) => expect(said(...roles, ...events)).toEqual(findings))
})
