import { describe, expect, it } from 'vitest'
import {
  categoriesWith,
  endAttemptWithoutCall,
  startAttempt,
  waitsUntil,
} from '../../../commands/notifications/attempt-notification.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { at, ids } from '../../streams/facts.ts'
import { notificationFact, notificationIds } from '../../streams/notification-facts.ts'
import { given } from '../../support/given-decider.ts'
import { attempt, failedStory, nowAt, pendingStory, queuedStory, sendingStory } from './notification-story.ts'

const { notification: notificationId } = notificationIds
const start = { ...attempt, leaseUntil: nowAt(52) }
const started = notificationFact('NotificationAttemptStarted')
const queued = notificationFact('NotificationQueued')

describe('pending or queued → sending', () => {
  it('counts the attempt, and queues a pending notification before', () => {
    const after = given(notifications, ...pendingStory)
      .when(startAttempt, start)
      .thenEvents([queued, started])
    expect(after).toMatchObject({ status: 'sending', attempts: 1 })
  })

  it('counts on after a failed attempt, once its next attempt is due', () => {
    const retrying = given(notifications, ...sendingStory, notificationFact('NotificationRetryScheduled'))
    retrying.when(startAttempt, { ...start, now: nowAt(34) }).thenNothing()
    const again = { ...start, attemptId: ids.attempt, now: nowAt(35), leaseUntil: nowAt(55) }
    const second = { attemptId: ids.attempt, attempt: 2, startedAt: at(35), leaseUntil: at(55) }
    retrying.when(startAttempt, again).thenEvents([notificationFact('NotificationAttemptStarted', second)])
  })

  it('takes the version of the rendered template, and the stricter of both policies', () => {
    const template = { version: 2, phi: false, category: 'marketing' } as const
    const after = given(notifications, ...queuedStory)
      .when(startAttempt, { ...start, template })
      .thenEvents([
        notificationFact('NotificationAttemptStarted', { templateVersion: 2, categories: ['clinical', 'marketing'] }),
      ])
    expect(after).toMatchObject({ templateVersion: 2, phi: true, category: 'clinical' })
    const now = { version: 2, phi: true, category: 'operational' } as const
    expect(categoriesWith({ categories: ['clinical'] }, now)).toEqual(['clinical', 'operational'])
    expect(categoriesWith({ categories: ['clinical'] }, null)).toEqual(['clinical'])
  })

  it('takes everything from the template if none was found before', () => {
    const template = { version: 1, phi: false, category: 'transactional' } as const
    const without = { templateVersion: null, category: null, phi: false, recipientType: 'slackChannel' } as const
    const after = given(notifications, notificationFact('NotificationCreated', without), queued)
      .when(startAttempt, { ...start, template })
      .thenEvents([
        notificationFact('NotificationAttemptStarted', {
          phi: false,
          category: 'transactional',
          categories: ['transactional'],
          phiSubject: ids.patient,
          phiKeyOwner: 'organisation',
        }),
      ])
    expect(after).toMatchObject({ phi: false, category: 'transactional', templateVersion: 1 })
  })

  it('encrypts the address of a chat channel or a mail for the subject of the variables', () => {
    const mail = { recipientType: 'email' as const, recipientRef: 'canary@example.org' }
    const state = given(notifications, notificationFact('NotificationCreated', mail), queued)
    const subject = { phiSubject: ids.patient, phiKeyOwner: 'organisation' as const }
    state.when(startAttempt, start).thenEvents([notificationFact('NotificationAttemptStarted', subject)])
  })
})

describe('any other status', () => {
  it.each([
    ['sending', sendingStory],
    ['sent', [...sendingStory, notificationFact('NotificationSent')]],
    ['failed', failedStory],
    ['suppressed', [...sendingStory, notificationFact('NotificationSuppressed')]],
    ['discarded', [notificationFact('NotificationDiscarded')]],
    ['absent', []],
  ])('%s stays as it is', (_, story) => {
    const state = given(notifications, ...story)
    state.when(startAttempt, { ...start, attemptId: ids.attempt, now: nowAt(400) }).thenNothing()
    expect(waitsUntil(state.state, nowAt(400))).toBeNull()
  })

  it('waits for the lease of an open attempt, and for the time of the next one', () => {
    expect(waitsUntil(given(notifications, ...sendingStory).state, nowAt(40))).toEqual(nowAt(52))
    const retrying = given(notifications, ...sendingStory, notificationFact('NotificationRetryScheduled'))
    expect(waitsUntil(retrying.state, nowAt(34))).toEqual(nowAt(35))
  })
})

describe('an attempt that ends without a call of the provider', () => {
  const gate = { ...attempt, request: {}, resolvedAddress: null, latencyMs: 5, template: null }
  const ended = { attemptId: notificationIds.attempt, attempt: 1, response: null, latencyMs: 5 }
  const gated = (providerName: string, address: string | null) =>
    notificationFact('NotificationAttemptStarted', {
      providerName,
      request: {},
      resolvedAddress: address,
      leaseUntil: at(32),
    })

  it('is suppressed by an opt-out', () => {
    const outcome = { kind: 'suppressed', reason: 'preference_opt_out' } as const
    const after = given(notifications, ...queuedStory)
      .when(endAttemptWithoutCall, { ...gate, providerName: 'preferences', outcome })
      .thenEvents([
        gated('preferences', null),
        notificationFact('NotificationSuppressed', { ended, reason: 'preference_opt_out', suppressedAt: at(32) }),
      ])
    expect(after.status).toBe('suppressed')
  })

  it('is suppressed by the suppression list', () => {
    const outcome = { kind: 'suppressed', reason: 'suppression_list' } as const
    const { resolvedAddress } = attempt
    given(notifications, ...queuedStory)
      .when(endAttemptWithoutCall, { ...gate, resolvedAddress, providerName: 'suppressions', outcome })
      .thenEvents([
        gated('suppressions', resolvedAddress),
        notificationFact('NotificationSuppressed', { ended, suppressedAt: at(32) }),
      ])
  })

  it('fails without a retry if a template with PHI is for chat', () => {
    const failure = { errorCode: 'phi_policy_violation', errorDetail: null } as const
    given(notifications, ...pendingStory)
      .when(endAttemptWithoutCall, { ...gate, providerName: 'templates', outcome: { kind: 'permanent', ...failure } })
      .thenEvents([
        queued,
        gated('templates', null),
        notificationFact('NotificationFailed', { ...failure, ended, failedAt: at(32) }),
      ])
  })

  it('is tried again after a failed lookup of the user', () => {
    const failure = { errorCode: 'user_lookup_unavailable', errorDetail: null } as const
    const outcome = { kind: 'transient', retryAfterMs: 0, ...failure } as const
    const after = given(notifications, ...queuedStory)
      .when(endAttemptWithoutCall, { ...gate, providerName: 'user-management', outcome })
      .thenEvents([
        gated('user-management', null),
        {
          type: 'NotificationRetryScheduled',
          data: { notificationId, ended, ...failure, nextAttemptAt: at(34), failedAt: at(32) },
        },
      ])
    expect(after).toMatchObject({ status: 'queued', attempts: 1 })
  })

  it('changes nothing after the end, and nothing while an attempt is open', () => {
    const outcome = { kind: 'suppressed', reason: 'preference_opt_out' } as const
    const command = { ...gate, providerName: 'preferences', outcome }
    given(notifications, ...failedStory)
      .when(endAttemptWithoutCall, command)
      .thenNothing()
    given(notifications, ...sendingStory)
      .when(endAttemptWithoutCall, command)
      .thenNothing()
  })
})
