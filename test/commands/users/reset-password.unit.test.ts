import { describe, expect, test } from 'vitest'
import {
  attemptPasswordReset,
  recordPasswordReset,
  requestPasswordReset,
  waitsUntil,
} from '../../../commands/users/reset-password.ts'
import { users } from '../../../streams/user/aggregate.ts'
import { at, ids } from '../../streams/facts.ts'
import { userFact, userIds } from '../../streams/user-facts.ts'
import { given } from '../../support/given-decider.ts'

const { reset: requestId, attempt: attemptId } = userIds
const created = userFact('UserCreated')
const requested = userFact('UserPasswordResetRequested')
const attempted = userFact('UserPasswordResetAttempted')
const postponed = userFact('UserPasswordResetPostponed')
const ended = (outcome: 'sent' | 'rejected' | 'unavailable' | 'unknown', second: number) =>
  userFact('UserPasswordResetEnded', { outcome, endedAt: at(second) })

const attemptAt = (second: number, id: string = attemptId) => ({
  requestId,
  attemptId: id,
  now: new Date(at(second)),
  leaseUntil: new Date(at(second + 20)),
})

describe('a request', () => {
  const request = { requestId, isKeyed: true, changedBy: ids.client, now: new Date(at(6)) }

  test('is recorded once while it is under way', () => {
    given(users, created).when(requestPasswordReset, request).thenEvents([requested])
    given(users, created, requested)
      .when(requestPasswordReset, { ...request, requestId: userIds.hold, isKeyed: false })
      .thenNothing()
    given(users, created, requested, ended('sent', 8))
      .when(requestPasswordReset, { ...request, requestId: userIds.hold })
      .thenEvents([userFact('UserPasswordResetRequested', { requestId: userIds.hold })])
  })

  test('with a key of its own while another one is under way has its message, also when it is repeated later', () => {
    const other = { ...request, requestId: userIds.hold }
    const joined = userFact('UserPasswordResetJoined')
    given(users, created, requested).when(requestPasswordReset, other).thenEvents([joined])
    given(users, created, requested, joined, ended('sent', 8)).when(requestPasswordReset, other).thenNothing()
  })

  test('needs a user', () => {
    given(users).when(requestPasswordReset, request).thenRefused('not-found')
    given(users, created, userFact('UserDeactivated'), userFact('UserErasureStarted'))
      .when(requestPasswordReset, request)
      .thenRefused('not-found')
  })
})

describe('an attempt', () => {
  test('comes before the call, and holds others back', () => {
    given(users, created, requested).when(attemptPasswordReset, attemptAt(7)).thenEvents([attempted])
    given(users, created, requested, attempted).when(attemptPasswordReset, attemptAt(26, userIds.hold)).thenNothing()
  })

  test('without an outcome ends the request as unknown, so nothing is sent again by itself', () => {
    given(users, created, requested, attempted)
      .when(attemptPasswordReset, attemptAt(27, userIds.hold))
      .thenEvents([ended('unknown', 27)])
  })

  test('waits for its time after it was postponed', () => {
    const after = given(users, created, requested, attempted, postponed)
    after.when(attemptPasswordReset, attemptAt(29)).thenNothing()
    after.when(attemptPasswordReset, attemptAt(30, userIds.hold)).thenEvents([
      userFact('UserPasswordResetAttempted', {
        attempt: 2,
        attemptId: userIds.hold,
        attemptedAt: at(30),
        leaseUntil: at(50),
      }),
    ])
  })

  test('ends as unknown at once if its worker is dead', () => {
    given(users, created, requested, attempted)
      .when(attemptPasswordReset, { ...attemptAt(8), endedLeases: [attempted.data.leaseUntil] })
      .thenEvents([ended('unknown', 8)])
  })

  test('is not made for a user who is not active any more', () => {
    given(users, created, requested, userFact('UserSuspended'))
      .when(attemptPasswordReset, attemptAt(12))
      .thenEvents([ended('rejected', 12)])
  })

  test('of another request is not made', () => {
    given(users, created, requested)
      .when(attemptPasswordReset, { ...attemptAt(7), requestId: userIds.hold })
      .thenNothing()
  })

  test('returns the end of the lease, until which others wait', () => {
    const reset = { requestId, attempts: 1, nextAttemptAt: null, open: { attemptId, leaseUntil: at(27) } }
    expect(waitsUntil(reset, new Date(at(26)))).toEqual(new Date(at(27)))
    expect(waitsUntil(reset, new Date(at(27)))).toBe(null)
    expect(waitsUntil({ ...reset, open: null, nextAttemptAt: at(30) }, new Date(at(27)))).toEqual(new Date(at(30)))
  })
})

describe('an outcome', () => {
  const record = { requestId, attemptId, now: new Date(at(8)) }

  test.each(['sent', 'rejected', 'unknown', 'unavailable'] as const)('%s ends the request', (outcome) => {
    given(users, created, requested, attempted)
      .when(recordPasswordReset, { ...record, outcome })
      .thenEvents([ended(outcome, 8)])
  })

  test('of a message that was not sent names the next attempt', () => {
    given(users, created, requested, attempted)
      .when(recordPasswordReset, { ...record, outcome: { nextAttemptAt: new Date(at(30)) } })
      .thenEvents([postponed])
  })

  test('of an attempt that is not open changes nothing', () => {
    const other = { ...record, attemptId: userIds.hold, outcome: 'sent' as const }
    given(users, created, requested, attempted).when(recordPasswordReset, other).thenNothing()
    given(users, created, requested, attempted, ended('unknown', 27))
      .when(recordPasswordReset, { ...record, outcome: 'sent' as const })
      .thenNothing()
  })
})
