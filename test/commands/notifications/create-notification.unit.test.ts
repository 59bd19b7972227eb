import { describe, it } from 'vitest'
import { createNotification, discardNotification } from '../../../commands/notifications/create-notification.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { hash } from '../../streams/facts.ts'
import { notificationFact } from '../../streams/notification-facts.ts'
import { given } from '../../support/given-decider.ts'
import { nowAt } from './notification-story.ts'

const { createdAt: _, ...content } = notificationFact('NotificationCreated').data
const { discardedAt: __, ...discarded } = notificationFact('NotificationDiscarded').data
const now = nowAt(31)
const ofEvent = { ...content, failure: null, now }
const ofClient = { ...ofEvent, trigger: null, triggerSource: 'api:client', hop: 0, fingerprint: hash('f') }

describe('(none) → pending', () => {
  it('on a matching event, which may arrive again', () => {
    given(notifications)
      .when(createNotification, ofEvent)
      .thenEvents([notificationFact('NotificationCreated')])
  })

  it('on a request with an Idempotency-Key, which may be repeated', () => {
    const { failure: ___, now: ____, ...data } = ofClient
    given(notifications)
      .when(createNotification, ofClient)
      .thenEvents([notificationFact('NotificationCreated', data)])
  })

  it('not with the key of another request', () => {
    const { failure: ___, now: ____, ...data } = ofClient
    given(notifications, notificationFact('NotificationCreated', data))
      .when(createNotification, { ...ofClient, fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
  })

  it('not after the event was discarded', () => {
    given(notifications, notificationFact('NotificationDiscarded')).when(createNotification, ofEvent).thenNothing()
  })
})

describe('(none) → failed', () => {
  it('if the event names no recipient', () => {
    const failure = { errorCode: 'recipient_unresolvable', errorDetail: 'patient.user_id' } as const
    const recipient = { recipientRef: null, recipientKey: null }
    const failed = { ...failure, ended: null, finalAttempt: false, failedAt: now.toISOString() }
    given(notifications)
      .when(createNotification, { ...ofEvent, ...recipient, failure })
      .thenEvents([notificationFact('NotificationCreated', recipient), notificationFact('NotificationFailed', failed)])
  })
})

describe('an event that must not be notified', () => {
  it('is discarded once', () => {
    given(notifications)
      .when(discardNotification, { ...discarded, now })
      .thenEvents([notificationFact('NotificationDiscarded')])
  })

  it('changes no notification that exists', () => {
    given(notifications, notificationFact('NotificationCreated'))
      .when(discardNotification, { ...discarded, now })
      .thenNothing()
  })
})
