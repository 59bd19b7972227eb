import { describe, expect, test } from 'vitest'
import { noOrganisation } from '../../../platform/kit/tenants.ts'
import { usersProcess } from '../../../processes/users/users.process.ts'
import { at, ids } from '../../streams/facts.ts'
import { ofRoles, ofUser, roleFact, userFact, userIds } from '../../streams/user-facts.ts'
import { todosAfter } from '../../support/given-process.ts'
import { recorded, type GivenEvent } from '../../support/given-projector.ts'

const { user, membership, hold } = userIds
const holdKey = `${membership}/${hold}`

/** Step, key and instant of each row, after all events. */
function due(...events: readonly GivenEvent[]) {
  return todosAfter(usersProcess, recorded(events)).map(({ step, key, dueAt }) => [step, key, dueAt.toISOString()])
}

const started = ofUser(userFact('UserRegistrationStarted'))
const abandoned = ofUser(userFact('UserRegistrationAbandoned'))
const created = ofUser(userFact('UserCreated'))
const added = ofUser(userFact('UserMembershipAdded'))
const removed = ofUser(userFact('UserMembershipRemoved'))
const suspended = ofUser(userFact('UserSuspended'))
const reactivated = ofUser(userFact('UserReactivated'))
const assigned = ofRoles(roleFact('MembershipRoleAssigned'))
const confirmed = ofRoles(roleFact('MembershipConfirmed'))
const revoked = ofRoles(roleFact('MembershipRevoked'))
const held = ofRoles(roleFact('MembershipHeld'))
const holdEnded = ofRoles(roleFact('MembershipHoldEnded'))

describe('a registration', () => {
  test('is abandoned when its lease ends, unless the user was created', () => {
    expect(due(started)).toEqual([['abandon-registration', user, at(25)]])
    expect(due(started, created)).toEqual([])
  })

  test('that was abandoned is cleared, and may start again', () => {
    expect(due(started, abandoned)).toEqual([['clear-registration', user, at(56)]])
    const cleared = ofUser(userFact('UserRegistrationCleared'))
    expect(due(started, abandoned, cleared)).toEqual([])
    const again = ofUser(userFact('UserRegistrationStarted', { leaseUntil: at(60) }))
    expect(due(started, abandoned, cleared, again)).toEqual([['abandon-registration', user, at(60)]])
    expect(due(started, abandoned, again)).toEqual([['abandon-registration', user, at(60)]])
    expect(due(started, abandoned, again, created)).toEqual([])
  })
})

describe('a membership', () => {
  test('is resolved half a minute after one stream has it, unless both have it', () => {
    expect(due(assigned)).toEqual([['resolve-membership', membership, at(30)]])
    expect(due(assigned, added)).toEqual([['confirm-membership', membership, at(31)]])
    expect(due(assigned, added, confirmed)).toEqual([])
    expect(due(assigned, ofRoles(roleFact('MembershipReleased')))).toEqual([])
  })

  test('whose assignment ended before the user had it is resolved, until it is removed', () => {
    const released = ofRoles(roleFact('MembershipReleased'))
    expect(due(assigned, released, added)).toEqual([['confirm-membership', membership, at(31)]])
    expect(due(assigned, added, released)).toEqual([['confirm-membership', membership, at(31)]])
    expect(due(assigned, released, added, removed)).toEqual([])
    expect(due(assigned, released, added, assigned, confirmed)).toEqual([])
  })

  test('that was revoked is removed from the user half a minute later', () => {
    const member = [assigned, added, confirmed]
    expect(due(...member, revoked)).toEqual([['complete-removal', membership, at(49)]])
    expect(due(...member, revoked, removed)).toEqual([])
  })

  test('that another one of the organisation replaces needs no removal', () => {
    const other = userIds.reset
    const events = [
      ofRoles(roleFact('MembershipRoleAssigned', { membershipId: other })),
      ofUser(userFact('UserMembershipAdded', { membershipId: other })),
      ofRoles(roleFact('MembershipConfirmed', { membershipId: other })),
    ]
    expect(due(assigned, added, confirmed, revoked, ...events)).toEqual([])
    expect(due(assigned, added, ofRoles(roleFact('MembershipReleased')), ...events)).toEqual([])
  })

  test('of another organisation leaves a removal alone', () => {
    const elsewhere = ofUser(
      userFact('UserMembershipAdded', { membershipId: userIds.reset, organisationId: ids.otherOrg }),
    )
    expect(due(assigned, added, confirmed, revoked, elsewhere)).toEqual([
      ['complete-removal', membership, at(49)],
      ['confirm-membership', userIds.reset, at(31)],
    ])
  })
})

describe('a hold', () => {
  const member = [assigned, added, confirmed]

  test('expires half a minute later, unless the status changed', () => {
    expect(due(...member, held)).toEqual([['expire-hold', holdKey, at(39)]])
    expect(due(...member, held, holdEnded)).toEqual([])
    expect(due(...member, held, suspended)).toEqual([['align-account', user, at(10)]])
  })

  test('ends when the user is active again', () => {
    const back = [...member, held, suspended, reactivated]
    expect(due(...back)).toEqual([
      ['align-account', user, at(12)],
      ['end-hold', holdKey, at(12)],
    ])
    expect(due(...back, holdEnded)).toEqual([['align-account', user, at(12)]])
  })

  test('of a membership that is confirmed after the user is active again ends too', () => {
    const late = ofRoles(roleFact('MembershipConfirmed', { holdId: hold, confirmedAt: at(14) }))
    expect(due(suspended, assigned, added, late)).toEqual([['align-account', user, at(10)]])
    expect(due(suspended, assigned, added, reactivated, late)).toEqual([
      ['align-account', user, at(12)],
      ['end-hold', holdKey, at(14)],
    ])
  })

  test.each([revoked, ofRoles(roleFact('MembershipReleased'))])('ends with its membership: $type', (event) => {
    expect(due(assigned, held, event).map(([step]) => step)).not.toContain('expire-hold')
  })
})

describe('an account', () => {
  const aligned = ofUser(userFact('UserAccountAligned'))

  test.each([suspended, ofUser(userFact('UserDeactivated')), reactivated])('follows the status: $type', (event) => {
    expect(due(created, event).map(([step]) => step)).toEqual(['align-account'])
    expect(due(created, event, aligned)).toEqual([])
  })

  test.each(['email', 'displayName', 'locale'])('follows a change of %s', (member) => {
    const changed = ofUser(userFact('UserChanged', { members: ['patientAccount', member] }))
    expect(due(created, changed).map(([step]) => step)).toEqual(['align-account'])
    expect(due(created, changed, aligned)).toEqual([])
  })

  test('is deleted when an erasure starts. Then comes the key, and last the files of the vault', () => {
    const events = [
      ofUser(userFact('UserErasureStarted')),
      ofUser(userFact('UserAccountAligned', { account: 'deleted', alignedAt: at(51) })),
      ofUser(userFact('UserKeyDestroyed')),
      ofUser(userFact('UserErased')),
    ]
    expect(events.map((_, last) => due(created, suspended, ...events.slice(0, last + 1)))).toEqual([
      [['delete-account', user, at(50)]],
      [['destroy-key', user, at(51)]],
      [['rewrite-vault', user, at(52)]],
      [],
    ])
  })
})

test('a password reset is due until it has ended', () => {
  const requested = ofUser(userFact('UserPasswordResetRequested'))
  const attempted = ofUser(userFact('UserPasswordResetAttempted'))
  const postponed = ofUser(userFact('UserPasswordResetPostponed'))
  expect(due(requested)).toEqual([['reset-password', user, at(6)]])
  expect(due(requested, attempted)).toEqual([['reset-password', user, at(6)]])
  expect(due(requested, attempted, postponed)).toEqual([['reset-password', user, at(30)]])
  expect(due(requested, attempted, ofUser(userFact('UserPasswordResetEnded')))).toEqual([])
})

test('a row of a user belongs to no organisation, and a row of a role to its own', () => {
  const rows = todosAfter(usersProcess, recorded([created, suspended, assigned]))
  expect(Object.fromEntries(rows.map(({ step, orgId }) => [step, orgId]))).toEqual({
    'align-account': noOrganisation,
    'resolve-membership': ids.org,
  })
})

test.each([
  ofUser(userFact('UserChanged', { members: ['practitionerProfile', 'patientAccount'] })),
  ofUser(userFact('UserHoldExpired')),
  ofUser(userFact('UserPasswordResetJoined')),
  ofUser(userFact('UserProductAccessGranted')),
  ofUser(userFact('UserProductAccessJoined')),
  ofUser(userFact('UserProductAccessRevoked')),
  ofRoles(roleFact('RoleCreated')),
  ofRoles(roleFact('RoleChanged')),
  ofRoles(roleFact('RoleDeleted')),
  ofRoles(roleFact('MembershipRoleChanged')),
])('nothing is due after $type', (event) => {
  expect(due(event)).toEqual([])
})
