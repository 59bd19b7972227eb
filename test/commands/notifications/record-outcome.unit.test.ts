import { describe, expect, it } from 'vitest'
import { recordOutcome, endCutOffAttempt } from '../../../commands/notifications/record-outcome.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import type { NotificationEvent } from '../../../streams/notification/events.ts'
import type { NotificationCategory } from '../../../streams/types.ts'
import { at, ids } from '../../streams/facts.ts'
import { notificationFact, notificationIds } from '../../streams/notification-facts.ts'
import { given } from '../../support/given-decider.ts'
import { ending, nowAt, retryScheduleMs, sendingStory } from './notification-story.ts'

const { notification: notificationId, attempt: attemptId } = notificationIds
const ended = { attemptId, attempt: 1, response: { status: 250 }, latencyMs: 40 }
const busy = { kind: 'transient', errorCode: 'provider_5xx', errorDetail: 'the server answered 451' } as const

const { kind: _, ...busyFailure } = busy
const retryAt = (attempt: number) => new Date(nowAt(33).getTime() + (retryScheduleMs[attempt - 1] ?? 0)).toISOString()

/** The last of so many attempts of one round is open. */
function attempts(count: number): NotificationEvent[] {
  const story: NotificationEvent[] = [notificationFact('NotificationCreated'), notificationFact('NotificationQueued')]
  for (let attempt = 1; attempt <= count; attempt++) {
    if (attempt > 1) story.push(notificationFact('NotificationRetryScheduled'))
    story.push(notificationFact('NotificationAttemptStarted', { attempt }))
  }
  return story
}

describe('sending → sent', () => {
  it('with the id of the provider', () => {
    const outcome = { kind: 'sent', providerMessageId: 'message-1' } as const
    const after = given(notifications, ...sendingStory)
      .when(recordOutcome, { ...ending, outcome })
      .thenEvents([notificationFact('NotificationSent')])
    expect(after.status).toBe('sent')
  })
})

describe('sending → failed', () => {
  it('after a permanent failure, without a retry', () => {
    const outcome = { kind: 'permanent', errorCode: 'provider_4xx', errorDetail: 'the server answered 554' } as const
    given(notifications, ...sendingStory)
      .when(recordOutcome, { ...ending, outcome })
      .thenEvents([notificationFact('NotificationFailed')])
  })

  it('after a transient failure of the last try, which is the final attempt', () => {
    given(notifications, ...attempts(5))
      .when(recordOutcome, { ...ending, outcome: { ...busy, retryAfterMs: 0 } })
      .thenEvents([
        notificationFact('NotificationFailed', {
          ended: { ...ended, attempt: 5 },
          errorCode: busy.errorCode,
          errorDetail: busy.errorDetail,
          finalAttempt: true,
        }),
      ])
  })
})

describe('sending → queued', () => {
  it.each(retryScheduleMs.map((delayMs, index) => ({ attempt: index + 1, delayMs })))(
    'after a transient failure of try $attempt, due in $delayMs ms',
    ({ attempt, delayMs }) => {
      const nextAttemptAt = new Date(nowAt(33).getTime() + delayMs).toISOString()
      const after = given(notifications, ...attempts(attempt))
        .when(recordOutcome, { ...ending, outcome: { ...busy, retryAfterMs: 0 } })
        .thenEvents([notificationFact('NotificationRetryScheduled', { ended: { ...ended, attempt }, nextAttemptAt })])
      expect(after).toMatchObject({ status: 'queued', attempts: attempt, nextAttemptAt })
    },
  )

  it('twice in a round after refusals for unknown reasons, and then failed for good', () => {
    const outcome = { kind: 'unclear', errorCode: 'provider_4xx', errorDetail: null } as const
    const refused = { errorCode: 'provider_4xx', errorDetail: null } as const
    const story: NotificationEvent[] = [notificationFact('NotificationCreated')]
    for (const attempt of [1, 2, 3, 4]) {
      story.push(notificationFact('NotificationAttemptStarted', { attempt }))
      const isBusy = attempt === 2
      const scheduled = { ...(isBusy ? busyFailure : refused), ended: { ...ended, attempt } }
      const expected: NotificationEvent =
        attempt === 4
          ? notificationFact('NotificationFailed', { ...scheduled, finalAttempt: false })
          : notificationFact('NotificationRetryScheduled', { ...scheduled, nextAttemptAt: retryAt(attempt) })
      given(notifications, ...story)
        .when(recordOutcome, { ...ending, outcome: isBusy ? { ...busy, retryAfterMs: 0 } : outcome })
        .thenEvents([expected])
      story.push(expected)
    }
    const again = notificationFact('NotificationQueued', { reason: 'retry_requested' })
    given(notifications, ...story, again, notificationFact('NotificationAttemptStarted', { attempt: 5 }))
      .when(recordOutcome, { ...ending, outcome })
      .thenEvents([
        notificationFact('NotificationRetryScheduled', {
          ...refused,
          ended: { ...ended, attempt: 5 },
          nextAttemptAt: retryAt(1),
        }),
      ])
  })

  it('not before the instant that the provider asks for', () => {
    given(notifications, ...sendingStory)
      .when(recordOutcome, { ...ending, outcome: { ...busy, retryAfterMs: 60_000 } })
      .thenEvents([notificationFact('NotificationRetryScheduled', { nextAttemptAt: at(93) })])
  })

  it('without a used try if the provider was not called', () => {
    const outcome = { kind: 'not-sent', afterMs: 30_000 } as const
    const after = given(notifications, ...sendingStory)
      .when(recordOutcome, { ...ending, now: nowAt(32), outcome })
      .thenEvents([notificationFact('NotificationAttemptWithdrawn')])
    expect(after).toMatchObject({ status: 'queued', attempts: 0, nextAttemptAt: at(62) })
  })

  it('with a whole round of tries after a failed notification was retried', () => {
    const retried = notificationFact('NotificationQueued', { reason: 'retry_requested' })
    const sixth = notificationFact('NotificationAttemptStarted', { attempt: 6 })
    given(notifications, ...attempts(5), notificationFact('NotificationFailed'), retried, sixth)
      .when(recordOutcome, { ...ending, outcome: { ...busy, retryAfterMs: 0 } })
      .thenEvents([notificationFact('NotificationRetryScheduled', { ended: { ...ended, attempt: 6 } })])
  })
})

describe('an outcome', () => {
  it('of another attempt changes nothing', () => {
    const outcome = { kind: 'sent', providerMessageId: null } as const
    given(notifications, ...sendingStory)
      .when(recordOutcome, { ...ending, attemptId: ids.attempt, outcome })
      .thenNothing()
  })
})

describe('an unknown outcome that becomes known', () => {
  const outcome = { kind: 'sent', providerMessageId: 'message-1' } as const
  const unknown = { errorCode: 'delivery_unknown', errorDetail: null } as const
  const scheduled = notificationFact('NotificationRetryScheduled', unknown)
  const failed = notificationFact('NotificationFailed', unknown)
  const late = { ...ending, now: nowAt(90), outcome }
  const sent = notificationFact('NotificationSent', { sentAt: at(90) })

  it('is recorded after another process has given the attempt up', () => {
    for (const end of [scheduled, failed]) {
      const after = given(notifications, ...sendingStory, end)
        .when(recordOutcome, late)
        .thenEvents([sent])
      expect(after.status).toBe('sent')
      given(notifications, ...sendingStory, end, sent)
        .when(recordOutcome, late)
        .thenNothing()
    }
  })

  it('changes nothing if nothing was sent', () => {
    given(notifications, ...sendingStory, failed)
      .when(recordOutcome, { ...late, outcome: { ...busy, retryAfterMs: 0 } })
      .thenNothing()
  })

  it('changes nothing while another attempt is open, and in a later round', () => {
    const second = notificationFact('NotificationAttemptStarted', { attemptId: ids.attempt, attempt: 2 })
    const again = notificationFact('NotificationQueued', { reason: 'retry_requested' })
    for (const story of [
      [scheduled, second],
      [failed, again],
    ])
      given(notifications, ...sendingStory, ...story)
        .when(recordOutcome, late)
        .thenNothing()
  })
})

describe('an attempt that was cut off', () => {
  const command = { now: nowAt(52), retryScheduleMs, atLeastOnceCategories: ['transactional'] as const }
  const cutOff = {
    ended: { ...ended, response: null, latencyMs: 20_000 },
    errorCode: 'delivery_unknown' as const,
    errorDetail: 'the worker stopped before it recorded the outcome',
    failedAt: at(52),
  }
  const sendingOf = (categories: NotificationCategory[]) => [
    notificationFact('NotificationCreated'),
    notificationFact('NotificationQueued'),
    notificationFact('NotificationAttemptStarted', { categories }),
  ]

  it('stays open until the end of its lease', () => {
    given(notifications, ...sendingStory)
      .when(endCutOffAttempt, { ...command, now: nowAt(51) })
      .thenNothing()
  })

  it('ends at once if its worker is dead', () => {
    given(notifications, ...sendingStory)
      .when(endCutOffAttempt, { ...command, now: nowAt(51), endedLeases: [at(52)] })
      .thenEvents([notificationFact('NotificationFailed', { ...cutOff, failedAt: at(51) })])
  })

  it('fails as delivery_unknown, so that no second message is sent', () => {
    given(notifications, ...sendingStory)
      .when(endCutOffAttempt, command)
      .thenEvents([notificationFact('NotificationFailed', cutOff)])
  })

  it('is tried again if its category is at-least-once', () => {
    given(notifications, ...sendingOf(['transactional']))
      .when(endCutOffAttempt, command)
      .thenEvents([{ type: 'NotificationRetryScheduled', data: { notificationId, ...cutOff, nextAttemptAt: at(54) } }])
  })

  it('fails if only some of its categories are at-least-once, and if it has none', () => {
    for (const categories of [['transactional', 'clinical'] as NotificationCategory[], []])
      given(notifications, ...sendingOf(categories))
        .when(endCutOffAttempt, command)
        .thenEvents([notificationFact('NotificationFailed', cutOff)])
  })

  it('is treated the same if the provider did not answer after it had everything', () => {
    const outcome = { kind: 'unknown', errorDetail: null } as const
    const unknown = { errorCode: 'delivery_unknown' as const, errorDetail: null }
    given(notifications, ...sendingStory)
      .when(recordOutcome, { ...ending, outcome })
      .thenEvents([notificationFact('NotificationFailed', unknown)])
    given(notifications, ...sendingOf(['transactional']))
      .when(recordOutcome, { ...ending, outcome })
      .thenEvents([notificationFact('NotificationRetryScheduled', unknown)])
  })
})
