import { expect, it } from 'vitest'
import { endWithPatient } from '../../../commands/notifications/end-with-patient.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { at } from '../../streams/facts.ts'
import { notificationFact, notificationIds } from '../../streams/notification-facts.ts'
import { given } from '../../support/given-decider.ts'
import { failedStory, nowAt, pendingStory, queuedStory, sendingStory } from './notification-story.ts'

const command = { now: nowAt(52) }

it('ends a message that was not sent, because its variables are gone', () => {
  for (const story of [pendingStory, queuedStory]) {
    const after = given(notifications, ...story)
      .when(endWithPatient, command)
      .thenEvents([
        notificationFact('NotificationFailed', {
          ended: null,
          errorCode: 'template_render_failed',
          errorDetail: 'the variables were erased',
          failedAt: at(52),
        }),
      ])
    expect(after.status).toBe('failed')
  }
})

it('ends a message that waits for another try as delivery_unknown if an earlier try may have sent it', () => {
  const unknown = notificationFact('NotificationRetryScheduled', { errorCode: 'delivery_unknown' })
  const end = { ended: null, failedAt: at(52) }
  given(notifications, ...sendingStory, unknown)
    .when(endWithPatient, command)
    .thenEvents([
      notificationFact('NotificationFailed', {
        ...end,
        errorCode: 'delivery_unknown',
        errorDetail: 'an earlier try may have sent the message, and the variables were erased',
      }),
    ])
  const newRound = notificationFact('NotificationQueued', { reason: 'retry_requested' })
  given(notifications, ...sendingStory, unknown, newRound)
    .when(endWithPatient, command)
    .thenEvents([
      notificationFact('NotificationFailed', {
        ...end,
        errorCode: 'template_render_failed',
        errorDetail: 'the variables were erased',
      }),
    ])
})

it('leaves a message alone that is being sent', () => {
  given(notifications, ...sendingStory)
    .when(endWithPatient, { now: nowAt(51) })
    .thenNothing()
})

it('ends a message whose worker died as delivery_unknown, whatever its category, because it may have been sent', () => {
  given(
    notifications,
    ...queuedStory,
    notificationFact('NotificationAttemptStarted', { categories: ['transactional'] }),
  )
    .when(endWithPatient, command)
    .thenEvents([
      notificationFact('NotificationFailed', {
        ended: { attemptId: notificationIds.attempt, attempt: 1, response: null, latencyMs: 20_000 },
        errorCode: 'delivery_unknown',
        errorDetail: 'the worker stopped before it recorded the outcome',
        failedAt: at(52),
      }),
    ])
})

it('changes no ended notification, and none that does not exist', () => {
  for (const story of [[], failedStory, [...sendingStory, notificationFact('NotificationSent')]])
    given(notifications, ...story)
      .when(endWithPatient, command)
      .thenNothing()
})
