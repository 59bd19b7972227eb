import { describe, expect, it } from 'vitest'
import {
  bringNotificationForward,
  queueNotification,
  reEnqueueNotification,
  retryNotification,
} from '../../../commands/notifications/requeue-notification.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { at, hash } from '../../streams/facts.ts'
import { notificationFact } from '../../streams/notification-facts.ts'
import { given } from '../../support/given-decider.ts'
import { failedStory, nowAt, pendingStory, queuedStory, retryScheduleMs, sendingStory } from './notification-story.ts'

describe('pending → queued', () => {
  it('happens once', () => {
    given(notifications, ...pendingStory)
      .when(queueNotification, { now: nowAt(32) })
      .thenEvents([notificationFact('NotificationQueued')])
  })
})

describe('queued → due now', () => {
  it('on request of an operator, once, and in the same round', () => {
    const forward = notificationFact('NotificationQueued', {
      reason: 're_enqueued',
      nextAttemptAt: at(20),
      queuedAt: at(20),
    })
    const after = given(notifications, ...queuedStory)
      .when(bringNotificationForward, { now: nowAt(20) })
      .thenEvents([forward])
    expect(after).toMatchObject({ status: 'queued', attemptsBeforeRound: 0 })
    given(notifications, ...queuedStory, forward)
      .when(bringNotificationForward, { now: nowAt(20) })
      .thenNothing()
    given(notifications, ...failedStory)
      .when(bringNotificationForward, { now: nowAt(20) })
      .thenNothing()
  })
})

describe('failed → queued', () => {
  const request = { key: hash('c'), fingerprint: hash('f') }
  const now = nowAt(60)
  const again = notificationFact('NotificationQueued', {
    reason: 'retry_requested',
    nextAttemptAt: at(60),
    request,
    queuedAt: at(60),
  })

  it('on request, with the attempts counting on', () => {
    const after = given(notifications, ...failedStory)
      .when(retryNotification, { request, now })
      .thenEvents([again])
    expect(after).toMatchObject({ status: 'queued', attempts: 1, attemptsBeforeRound: 1 })
  })

  it('not twice by one request, although it failed again', () => {
    const failedAgain = [...failedStory, again, notificationFact('NotificationFailed')]
    given(notifications, ...failedAgain)
      .when(retryNotification, { request, now })
      .thenNothing()
    given(notifications, ...failedAgain)
      .when(retryNotification, { request: { ...request, fingerprint: hash('e') }, now })
      .thenRefused('idempotency-key-reused')
  })

  it.each([
    ['pending', pendingStory],
    ['queued', queuedStory],
    ['sending', sendingStory],
    ['sent', [...sendingStory, notificationFact('NotificationSent')]],
    ['suppressed', [...sendingStory, notificationFact('NotificationSuppressed')]],
  ])('refuses %s', (_, story) => {
    given(notifications, ...story)
      .when(retryNotification, { request: null, now })
      .thenRefused('notification-not-failed')
  })

  it('refuses what does not exist for readers', () => {
    given(notifications).when(retryNotification, { request: null, now }).thenRefused('not-found')
    given(notifications, notificationFact('NotificationDiscarded'))
      .when(retryNotification, { request: null, now })
      .thenRefused('not-found')
  })
})

describe('a stuck notification', () => {
  const rules = { retryScheduleMs, atLeastOnceCategories: ['clinical'] as const }
  const command = { ...rules, dueBefore: nowAt(32), now: nowAt(332) }

  it('is due now', () => {
    const requeued = { reason: 're_enqueued', nextAttemptAt: at(332), queuedAt: at(332) } as const
    given(notifications, ...queuedStory)
      .when(reEnqueueNotification, command)
      .thenEvents([notificationFact('NotificationQueued', requeued)])
  })

  it('ends its attempt if a crash cut it off', () => {
    const after = given(notifications, ...sendingStory)
      .when(reEnqueueNotification, command)
      .thenEvents([
        notificationFact('NotificationRetryScheduled', {
          ended: { ...notificationFact('NotificationSent').data.ended, response: null, latencyMs: 20_000 },
          errorCode: 'delivery_unknown',
          errorDetail: 'the worker stopped before it recorded the outcome',
          nextAttemptAt: at(334),
          failedAt: at(332),
        }),
      ])
    expect(after.status).toBe('queued')
  })

  it('is left alone if it is not stuck', () => {
    given(notifications, ...queuedStory)
      .when(reEnqueueNotification, { ...command, dueBefore: nowAt(31) })
      .thenNothing()
    given(notifications, ...failedStory)
      .when(reEnqueueNotification, command)
      .thenNothing()
    given(notifications, ...pendingStory)
      .when(reEnqueueNotification, command)
      .thenNothing()
  })
})
