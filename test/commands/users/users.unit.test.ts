import { describe, expect, test } from 'vitest'
import { addMembership, grantProduct, removeMembership, revokeProduct } from '../../../commands/users/memberships.ts'
import { changeProfile } from '../../../commands/users/profile.ts'
import { registerPermissions } from '../../../commands/users/permissions.ts'
import {
  abandonRegistration,
  attemptClearing,
  clearRegistration,
  createUser,
  startRegistration,
} from '../../../commands/users/registration.ts'
import {
  changeStatus,
  endErasure,
  expireHold,
  recordKeyDestroyed,
  startErasure,
  startErasureAgain,
  wantedAccount,
} from '../../../commands/users/status.ts'
import { permissions } from '../../../streams/permission/aggregate.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { at, hash, ids } from '../../streams/facts.ts'
import { permissionFact, userFact, userIds } from '../../streams/user-facts.ts'
import { given } from '../../support/given-decider.ts'

const now = new Date(at(60))
const changedBy = ids.client
const { user: userId, attempt: attemptId, membership: membershipId, hold: holdId } = userIds
const created = userFact('UserCreated')
const member = userFact('UserMembershipAdded')

describe('registration', () => {
  const start = {
    userId,
    attemptId,
    fingerprint: hash('f'),
    changedBy,
    now: new Date(at(0)),
    leaseUntil: new Date(at(25)),
  }
  const started = userFact('UserRegistrationStarted')
  const abandoned = userFact('UserRegistrationAbandoned')

  test('an attempt is recorded before the call to the identity provider', () => {
    const decided = given(users).when(startRegistration, start)
    decided.thenEvents([started])
  })

  test.each([
    [[abandoned], 0],
    [[abandoned, userFact('UserRegistrationCleared')], 0],
    [[abandoned, userFact('UserRegistrationClearAttempted')], 48],
  ])('a repeat starts again after %j', (events, seconds) => {
    const again = { ...start, attemptId: userIds.reset, now: new Date(at(seconds)) }
    const startedAgain = userFact('UserRegistrationStarted', { attemptId: userIds.reset, startedAt: at(seconds) })
    given(users, started, ...events)
      .when(startRegistration, again)
      .thenEvents([startedAgain])
    given(users, started, ...events)
      .when(startRegistration, { ...again, fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
  })

  test.each([[[]], [[abandoned, userFact('UserRegistrationClearAttempted')]]])(
    'a repeat starts nothing while an attempt or a deletion is under way: %j',
    (events) => {
      const again = { ...start, attemptId: userIds.reset, now: new Date(at(30)) }
      given(users, started, ...events)
        .when(startRegistration, again)
        .thenNothing()
    },
  )

  test('an account is deleted by one worker at a time, and not while a new attempt runs', () => {
    const attempted = userFact('UserRegistrationClearAttempted')
    const attempt = { attemptId: userIds.reset, now: new Date(at(27)), leaseUntil: new Date(at(47)) }
    const clear = { attemptId: userIds.reset, now: new Date(at(27)) }
    given(users, started, abandoned).when(attemptClearing, attempt).thenEvents([attempted])
    given(users, started, abandoned, started).when(attemptClearing, attempt).thenNothing()
    given(users, started, abandoned).when(clearRegistration, clear).thenNothing()
    // A worker that has started again knows that the lease of its own dead attempt has ended.
    const another = { ...attempt, attemptId: userIds.hold, leaseUntil: new Date(at(48)) }
    given(users, started, abandoned, attempted).when(attemptClearing, another).thenNothing()
    given(users, started, abandoned, attempted)
      .when(attemptClearing, { ...another, endedLeases: [attempted.data.leaseUntil] })
      .thenEvents([{ ...attempted, data: { ...attempted.data, attemptId: userIds.hold, leaseUntil: at(48) } }])
    given(users, started, abandoned, attempted)
      .when(clearRegistration, { ...clear, attemptId: userIds.hold })
      .thenNothing()
    given(users, started, abandoned, attempted)
      .when(clearRegistration, clear)
      .thenEvents([userFact('UserRegistrationCleared')])
  })

  test('a repeat of a completed registration creates nothing', () => {
    given(users, started, created).when(startRegistration, start).thenNothing()
    given(users, started, created)
      .when(startRegistration, { ...start, fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
  })

  test('the user and its membership are one append', () => {
    const { createdAt: _, ...data } = created.data
    const { membershipId, organisationId, roleId } = member.data
    const membership = { membershipId, organisationId, roleId }
    given(users, started)
      .when(createUser, { ...data, attemptId, membership, now: new Date(at(1)) })
      .thenEvents([created, member], 'registration-under-way')
  })

  test('a user without a membership belongs to no organisation', () => {
    const { createdAt: _, ...data } = created.data
    given(users, started)
      .when(createUser, { ...data, attemptId, membership: null, now: new Date(at(1)) })
      .thenEvents([{ ...created, data: { ...created.data, organisationIds: [] } }], 'registration-under-way')
  })

  test('an abandoned attempt cannot create the user', () => {
    const { createdAt: _, ...data } = created.data
    given(users, started, abandoned)
      .when(createUser, { ...data, attemptId, membership: null, now })
      .thenRefused('registration-under-way')
  })

  test('another process abandons an attempt only after its lease', () => {
    const abandon = { attemptId: null, reason: 'lease-ended' as const }
    given(users, started)
      .when(abandonRegistration, { ...abandon, now: new Date(at(24)) })
      .thenNothing()
    given(users, started)
      .when(abandonRegistration, { ...abandon, now: new Date(at(26)) })
      .thenEvents([abandoned])
  })
})

describe('the profile', () => {
  const change = { newProfileId: userIds.reset, changedBy, now: new Date(at(5)) }

  test('a change names the changed members', () => {
    given(users, created, member)
      .when(changeProfile, { ...change, displayName: 'canary-new-name' })
      .thenEvents([userFact('UserChanged')])
  })

  test('undefined members of a professional profile stay', () => {
    const after = given(users, created, member)
      .when(changeProfile, { ...change, practitionerProfile: { credentials: 'MD' } })
      .thenEvents([
        userFact('UserChanged', {
          displayName: created.data.displayName,
          members: ['practitionerProfile'],
          practitionerProfile: { ...created.data.practitionerProfile!, credentials: 'MD', updatedAt: at(5) },
        }),
      ])
    expect(after).toMatchObject({ practitionerProfile: { id: userIds.profile } })
  })

  test('a profile must fit the type of the user', () => {
    given(users, created)
      .when(changeProfile, { ...change, patientAccount: { contactPreferences: { email: true } } })
      .thenRefused('not-a-patient')
    given(users, userFact('UserCreated', { userType: 'admin' }))
      .when(changeProfile, { ...change, practitionerProfile: { credentials: null } })
      .thenRefused('not-a-clinician')
  })
})

describe('status', () => {
  const to = (status: 'active' | 'suspended' | 'deactivated', changes = {}) =>
    ({ to: status, holdId, changedBy, now: new Date(at(10)), ...changes }) as const
  const suspended = userFact('UserSuspended')
  const deactivated = userFact('UserDeactivated', { changedAt: at(10) })

  test.each([
    ['active', [], 'suspended', suspended],
    ['active', [], 'deactivated', deactivated],
    ['suspended', [suspended], 'active', userFact('UserReactivated', { changedAt: at(10) })],
    ['suspended', [suspended], 'deactivated', deactivated],
    ['deactivated', [deactivated], 'active', userFact('UserReactivated', { changedAt: at(10) })],
  ] as const)('%s changes to another status: %#', (_, before, status, event) => {
    given(users, created, member, ...before)
      .when(changeStatus, to(status))
      .thenEvents([event])
  })

  test('a deactivated user is not suspended', () => {
    given(users, created, deactivated).when(changeStatus, to('suspended')).thenRefused('invalid-status-transition')
  })

  test('an inactive user keeps its hold when its status changes again', () => {
    given(users, created, member, suspended)
      .when(changeStatus, to('deactivated', { holdId: userIds.reset }))
      .thenEvents([deactivated])
  })

  test('a change whose hold has expired is refused, so the hold may end', () => {
    given(users, created)
      .when(expireHold, { holdId, now: new Date(at(40)) })
      .thenEvents([userFact('UserHoldExpired')])
    given(users, created, userFact('UserHoldExpired')).when(changeStatus, to('suspended')).thenRefused('hold-expired')
    given(users, created, suspended).when(expireHold, { holdId, now }).thenNothing()
  })

  test('only a deactivated user is erased', () => {
    const erase = { changedBy, now: new Date(at(50)) }
    given(users, created).when(startErasure, erase).thenRefused('user-not-deactivated')
    given(users, created, suspended).when(startErasure, erase).thenRefused('user-not-deactivated')
    const after = given(users, created, member, deactivated)
      .when(startErasure, erase)
      .thenEvents([userFact('UserErasureStarted')])
    expect(after).toMatchObject({ email: null, displayName: null, formerOrganisationIds: [ids.org] })
    given(users, created, deactivated, userFact('UserErasureStarted')).when(startErasure, erase).thenNothing()
  })

  test('the key of an erased user ends after the account, and the erasure after the key, each once', () => {
    const erasing = [created, deactivated, userFact('UserErasureStarted')]
    const deleted = userFact('UserAccountAligned', { account: 'deleted' })
    const destroyed = userFact('UserKeyDestroyed')
    const [key, end] = [{ now: new Date(at(52)) }, { now: new Date(at(53)) }]
    given(users, ...erasing)
      .when(recordKeyDestroyed, key)
      .thenNothing()
    given(users, ...erasing, deleted)
      .when(recordKeyDestroyed, key)
      .thenEvents([destroyed])
    given(users, ...erasing, deleted, destroyed)
      .when(recordKeyDestroyed, key)
      .thenNothing()
    given(users, ...erasing, deleted)
      .when(endErasure, end)
      .thenNothing()
    given(users, ...erasing, deleted, destroyed)
      .when(endErasure, end)
      .thenEvents([userFact('UserErased')])
    given(users, ...erasing, deleted, destroyed, userFact('UserErased'))
      .when(endErasure, end)
      .thenNothing()
  })

  test('a user whom a backup brought back is erased in any status, and an erased one is not erased again', () => {
    const again = { holdId, changedBy, now: new Date(at(50)) }
    given(users, created, member)
      .when(startErasureAgain, again)
      .thenEvents([userFact('UserErasureStarted')])
    given(users, created, deactivated, userFact('UserErasureStarted')).when(startErasureAgain, again).thenNothing()
    given(users).when(startErasureAgain, again).thenNothing()
  })

  test('the account at the identity provider follows the status', () => {
    const states = [[created], [created, suspended], [created, deactivated, userFact('UserErasureStarted')]].map(
      (events) => given(users, ...events).state,
    )
    expect(states.map((state) => ('externalId' in state ? wantedAccount(state).state : null))).toEqual([
      'enabled',
      'disabled',
      'deleted',
    ])
  })
})

describe('memberships of a user', () => {
  test('the user has what its organisation assigned, and loses what it revoked', () => {
    const { membershipId, organisationId, roleId } = member.data
    given(users, created)
      .when(addMembership, { membershipId, organisationId, roleId, changedBy, now: new Date(at(1)) })
      .thenEvents([member])
    given(users, created, member)
      .when(removeMembership, { membershipId, changedBy, now: new Date(at(20)) })
      .thenEvents([userFact('UserMembershipRemoved')])
  })

  test('a left-over membership of the same organisation is replaced', () => {
    const state = given(users, created, member, userFact('UserMembershipAdded', { membershipId: userIds.reset })).state
    expect('memberships' in state && [...state.memberships.keys()]).toEqual([userIds.reset])
  })

  test('access to a product is granted once', () => {
    const { productAccessId, productId, roleId } = userFact('UserProductAccessGranted').data
    const grant = { membershipId, roleId, productAccessId, productId, isKeyed: true, changedBy, now: new Date(at(2)) }
    given(users, created, member)
      .when(grantProduct, grant)
      .thenEvents([userFact('UserProductAccessGranted')])
    given(users, created).when(grantProduct, grant).thenRefused('not-found')
    given(users, created, member, userFact('UserProductAccessGranted'))
      .when(revokeProduct, { membershipId, roleId, productId, changedBy, now: new Date(at(3)) })
      .thenEvents([userFact('UserProductAccessRevoked')], 'not-found')
  })
})

describe('permissions', () => {
  const register = {
    serviceId: 'clinic',
    clientId: ids.client,
    permissions: [{ permissionId: userIds.reset, permission: 'clinic:patients:read', description: 'Read patients' }],
    changedBy,
    now,
  }

  test('the first registration binds the service to its client', () => {
    given(permissions, permissionFact('PermissionsRegistered'))
      .when(registerPermissions, { ...register, clientId: userIds.reset })
      .thenRefused('service-owned-by-other-client')
  })

  test('the first segment belongs to the first service', () => {
    given(permissions, permissionFact('PermissionsRegistered'))
      .when(registerPermissions, { ...register, serviceId: 'other' })
      .thenRefused('permission-owned-by-other-service')
  })

  test('a new description updates and keeps the id, and the same one changes nothing', () => {
    given(permissions, permissionFact('PermissionsRegistered')).when(registerPermissions, register).thenNothing()
    const described = {
      permissionId: userIds.reset,
      permission: 'clinic:patients:read',
      description: 'Read all patients',
    }
    given(permissions, permissionFact('PermissionsRegistered'))
      .when(registerPermissions, { ...register, permissions: [described] })
      .thenEvents([
        permissionFact('PermissionsRegistered', {
          created: [],
          updated: [{ ...described, permissionId: userIds.permission }],
          registeredAt: at(60),
        }),
      ])
  })
})

test('20,000 repeats of a grant with new keys are folded one after another', () => {
  let state = [member, userFact('UserProductAccessGranted')].reduce(
    users.evolve,
    users.evolve(users.initialState, created),
  )
  for (let place = 0; place < 20_000; place += 1) {
    const productAccessId = `access-${place}`
    state = users.evolve(state, userFact('UserProductAccessJoined', { productAccessId }))
  }
  const repeat = { membershipId, productId: ids.product, roleId: userIds.role, isKeyed: true, changedBy, now }
  expect(grantProduct({ ...repeat, productAccessId: 'access-7' }, state)).toEqual([])
  const revoked = users.evolve(state, userFact('UserProductAccessRevoked'))
  expect(grantProduct({ ...repeat, productAccessId: 'access-7' }, revoked)).toEqual({
    refused: 'idempotency-key-reused',
  })
})
