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
async function due(...events: readonly GivenEvent[]) {
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
  test('is abandoned when its lease ends, unless the user was created', async () => {
    expect(await due(started)).toEqual([['abandon-registration', user, at(25)]])
    expect(await due(started, created)).toEqual([])
  })

  test('that was abandoned is cleared, and may start again', async () => {
    expect(await due(started, abandoned)).toEqual([['clear-registration', user, at(26)]])
    const cleared = ofUser(userFact('UserRegistrationCleared'))
    expect(await due(started, abandoned, cleared)).toEqual([])
    const again = ofUser(userFact('UserRegistrationStarted', { leaseUntil: at(60) }))
    expect(await due(started, abandoned, cleared, again)).toEqual([['abandon-registration', user, at(60)]])
  })

  test('whose call had no answer is cleared when no account can appear any more', async () => {
    const late = ofUser(userFact('UserRegistrationAbandoned', { reason: 'provider-unavailable' }))
    expect(await due(started, late)).toEqual([['clear-registration', user, at(56)]])
  })
})

describe('a membership', () => {
  test('is settled half a minute after either stream has it, unless both have', async () => {
    expect(await due(assigned)).toEqual([['settle-membership', membership, at(30)]])
    expect(await due(assigned, added)).toEqual([['settle-membership', membership, at(31)]])
    expect(await due(assigned, added, confirmed)).toEqual([])
    expect(await due(assigned, ofRoles(roleFact('MembershipReleased')))).toEqual([])
  })

  test('whose assignment ended before the user had it is settled, until it is removed', async () => {
    const released = ofRoles(roleFact('MembershipReleased'))
    expect(await due(assigned, released, added)).toEqual([['settle-membership', membership, at(31)]])
    expect(await due(assigned, released, added, removed)).toEqual([])
  })

  test('that was revoked is removed from the user half a minute later', async () => {
    const member = [assigned, added, confirmed]
    expect(await due(...member, revoked)).toEqual([['complete-removal', membership, at(49)]])
    expect(await due(...member, revoked, removed)).toEqual([])
  })

  test('that another one of the organisation replaces needs no removal', async () => {
    const other = userIds.reset
    const events = [
      ofRoles(roleFact('MembershipRoleAssigned', { membershipId: other })),
      ofUser(userFact('UserMembershipAdded', { membershipId: other })),
      ofRoles(roleFact('MembershipConfirmed', { membershipId: other })),
    ]
    expect(await due(assigned, added, confirmed, revoked, ...events)).toEqual([])
  })

  test('of another organisation leaves a removal alone', async () => {
    const elsewhere = ofUser(
      userFact('UserMembershipAdded', { membershipId: userIds.reset, organisationId: ids.otherOrg }),
    )
    expect(await due(assigned, added, confirmed, revoked, elsewhere)).toEqual([
      ['complete-removal', membership, at(49)],
      ['settle-membership', userIds.reset, at(31)],
    ])
  })
})

describe('a hold', () => {
  const member = [assigned, added, confirmed]

  test('is settled half a minute later, unless the status changed', async () => {
    expect(await due(...member, held)).toEqual([['settle-hold', holdKey, at(39)]])
    expect(await due(...member, held, holdEnded)).toEqual([])
    expect(await due(...member, held, suspended)).toEqual([['align-account', user, at(10)]])
  })

  test('ends when the user is active again', async () => {
    const back = [...member, held, suspended, reactivated]
    expect(await due(...back)).toEqual([
      ['align-account', user, at(12)],
      ['end-hold', holdKey, at(12)],
    ])
    expect(await due(...back, holdEnded)).toEqual([['align-account', user, at(12)]])
  })

  test('of a membership that is confirmed after the user is active again ends too', async () => {
    const late = ofRoles(roleFact('MembershipConfirmed', { holdId: hold, confirmedAt: at(14) }))
    expect(await due(suspended, assigned, added, late)).toEqual([['align-account', user, at(10)]])
    expect(await due(suspended, assigned, added, reactivated, late)).toEqual([
      ['align-account', user, at(12)],
      ['end-hold', holdKey, at(14)],
    ])
  })

  test.each([revoked, ofRoles(roleFact('MembershipReleased'))])('ends with its membership: $type', async (event) => {
    expect((await due(assigned, held, event)).map(([step]) => step)).not.toContain('settle-hold')
  })
})

describe('an account', () => {
  const aligned = ofUser(userFact('UserAccountAligned'))

  test.each([suspended, ofUser(userFact('UserDeactivated')), reactivated])(
    'follows the status: $type',
    async (event) => {
      expect((await due(created, event)).map(([step]) => step)).toEqual(['align-account'])
      expect(await due(created, event, aligned)).toEqual([])
    },
  )

  test('is deleted after an erasure', async () => {
    const erased = ofUser(userFact('UserErased'))
    expect(await due(created, suspended, erased)).toEqual([['complete-erasure', user, at(50)]])
    expect(await due(created, suspended, erased, aligned)).toEqual([])
  })
})

test('a password reset is due until it has ended', async () => {
  const requested = ofUser(userFact('UserPasswordResetRequested'))
  const attempted = ofUser(userFact('UserPasswordResetAttempted'))
  const postponed = ofUser(userFact('UserPasswordResetPostponed'))
  expect(await due(requested)).toEqual([['reset-password', user, at(6)]])
  expect(await due(requested, attempted)).toEqual([['reset-password', user, at(6)]])
  expect(await due(requested, attempted, postponed)).toEqual([['reset-password', user, at(30)]])
  expect(await due(requested, attempted, ofUser(userFact('UserPasswordResetEnded')))).toEqual([])
})

test('a row of a user belongs to no organisation, and a row of a role to its own', async () => {
  const rows = todosAfter(usersProcess, recorded([created, suspended, assigned]))
  expect(Object.fromEntries(rows.map(({ step, orgId }) => [step, orgId]))).toEqual({
    'align-account': noOrganisation,
    'settle-membership': ids.org,
  })
})

test.each([
  ofUser(userFact('UserChanged')),
  ofUser(userFact('UserHoldExpired')),
  ofUser(userFact('UserProductAccessGranted')),
  ofUser(userFact('UserProductAccessRevoked')),
  ofRoles(roleFact('RoleCreated')),
  ofRoles(roleFact('RoleChanged')),
  ofRoles(roleFact('RoleDeleted')),
  ofRoles(roleFact('MembershipRoleChanged')),
])('nothing is due after $type', async (event) => {
  expect(await due(event)).toEqual([])
})
