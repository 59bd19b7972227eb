import { describe, expect, it } from 'vitest'
import { notificationsProjector } from '../../../projections/notifications/notifications.projector.ts'
import { recorded, rowsAfter, type GivenEvent } from '../../support/given-projector.ts'
import { at, hash, ids } from '../../streams/facts.ts'
import {
  notificationFact as fact,
  notificationIds,
  ownNotification as own,
  trigger,
} from '../../streams/notification-facts.ts'
import { ofUser, userFact, userIds } from '../../streams/user-facts.ts'

async function rowsOf(...given: readonly GivenEvent[]) {
  const rows = await rowsAfter(notificationsProjector, recorded(given))
  return {
    notifications: rows['notifications'],
    attempts: rows['delivery_attempts'],
    inbox: rows['event_inbox'],
    rules: rows['matched_rules'],
  }
}

const created = own(fact('NotificationCreated'))
const queued = own(fact('NotificationQueued'))
const started = own(fact('NotificationAttemptStarted'))

const pending = {
  notification_id: notificationIds.notification,
  org_id: ids.org,
  template_code: 'assessment-completed',
  template_version: 1,
  channel: 'email',
  locale: 'en-GB',
  category: 'clinical',
  phi: true,
  recipient_type: 'user',
  recipient_ref: userIds.user,
  recipient_key: hash('a'),
  resolved_address: null,
  patient_id: ids.patient,
  ref_subject: ids.patient,
  address_subject: null,
  status: 'pending',
  attempts: 0,
  provider_message_id: null,
  error_code: null,
  error_detail: null,
  suppression_reason: null,
  correlation_id: 'order-7',
  trigger_source: `event:${ids.event}`,
  created_at: at(31),
  sent_at: null,
  failed_at: null,
  next_attempt_at: null,
  lease_until: null,
  updated_at: at(31),
  stream_revision: '0',
}
const sending = {
  ...pending,
  status: 'sending',
  attempts: 1,
  resolved_address: 'canary@example.org',
  address_subject: userIds.user,
  lease_until: at(52),
  updated_at: at(32),
  stream_revision: '2',
}
const ended = { ...sending, lease_until: null, updated_at: at(33), stream_revision: '3' }
const open = {
  attempt_id: notificationIds.attempt,
  notification_id: notificationIds.notification,
  attempt_number: 1,
  provider_name: 'smtp',
  request: { attachments: 0 },
  response: null,
  success: null,
  error_code: null,
  latency_ms: null,
  created_at: at(32),
}
const answered = { ...open, response: { status: 250 }, latency_ms: 40 }

describe('a notification', () => {
  it('is pending, queued, sending and sent', async () => {
    expect((await rowsOf(created)).notifications).toEqual([pending])
    expect((await rowsOf(created, queued)).notifications).toEqual([
      { ...pending, status: 'queued', next_attempt_at: at(32), updated_at: at(32), stream_revision: '1' },
    ])
    expect(await rowsOf(created, queued, started)).toMatchObject({ notifications: [sending], attempts: [open] })
    expect(await rowsOf(created, queued, started, own(fact('NotificationSent')))).toMatchObject({
      notifications: [{ ...ended, status: 'sent', provider_message_id: 'message-1', sent_at: at(33) }],
      attempts: [{ ...answered, success: true }],
    })
  })

  it('is queued between tries, and shows why', async () => {
    const failure = { error_code: 'provider_5xx', error_detail: 'the server answered 451' }
    expect(await rowsOf(created, queued, started, own(fact('NotificationRetryScheduled')))).toMatchObject({
      notifications: [{ ...ended, ...failure, status: 'queued', next_attempt_at: at(35) }],
      attempts: [{ ...answered, success: false, error_code: 'provider_5xx' }],
    })
  })

  it('is sent, and no failure any more, if its unknown outcome becomes known', async () => {
    const unknown = { errorCode: 'delivery_unknown' } as const
    for (const end of [fact('NotificationFailed', unknown), fact('NotificationRetryScheduled', unknown)]) {
      const sent = own(fact('NotificationSent'))
      expect(await rowsOf(created, queued, started, own(end), sent)).toMatchObject({
        notifications: [{ status: 'sent', error_code: null, failed_at: null, next_attempt_at: null, sent_at: at(33) }],
        attempts: [{ ...answered, success: true, error_code: null }],
      })
    }
  })

  it('has no trace of an attempt that was withdrawn', async () => {
    const { notifications, attempts } = await rowsOf(
      created,
      queued,
      started,
      own(fact('NotificationAttemptWithdrawn')),
    )
    expect(notifications).toMatchObject([{ status: 'queued', attempts: 0, next_attempt_at: at(62), lease_until: null }])
    expect(attempts).toEqual([])
  })

  it('is suppressed', async () => {
    expect(await rowsOf(created, queued, started, own(fact('NotificationSuppressed')))).toMatchObject({
      notifications: [{ ...ended, status: 'suppressed', suppression_reason: 'suppression_list' }],
      attempts: [{ ...answered, success: false, error_code: null }],
    })
  })

  it('is failed, and queued again on request', async () => {
    const story = [created, queued, started, own(fact('NotificationFailed'))]
    const failure = { error_code: 'provider_4xx', error_detail: 'the server answered 554' }
    const failed = { ...ended, ...failure, status: 'failed', failed_at: at(33) }
    expect((await rowsOf(...story)).notifications).toEqual([failed])
    const again = own(
      fact('NotificationQueued', { reason: 'retry_requested', nextAttemptAt: at(60), queuedAt: at(60) }),
    )
    expect((await rowsOf(...story, again)).notifications).toMatchObject([
      { status: 'queued', attempts: 1, failed_at: null, next_attempt_at: at(60) },
    ])
  })

  it('is failed from the start without a recipient', async () => {
    const nobody = own(fact('NotificationCreated', { recipientRef: null, recipientKey: null }))
    const failed = own(fact('NotificationFailed', { ended: null, errorCode: 'recipient_unresolvable' }))
    expect(await rowsOf(nobody, failed)).toMatchObject({
      notifications: [{ status: 'failed', recipient_ref: null, error_code: 'recipient_unresolvable' }],
      attempts: [],
    })
  })
})

describe('the erasure of a user', () => {
  const erased = ofUser(userFact('UserErasureStarted'))

  it('clears the address, and the reference that the user is the subject of', async () => {
    const { notifications } = await rowsOf(created, queued, started, erased)
    expect(notifications).toEqual([{ ...sending, resolved_address: null }])
    const ofOwn = own(fact('NotificationCreated', { phiSubject: userIds.user, phiKeyOwner: 'platform' }))
    expect((await rowsOf(ofOwn, erased)).notifications).toMatchObject([{ recipient_ref: null }])
  })

  it('leaves the notifications of others as they are', async () => {
    const other = ofUser(userFact('UserErasureStarted', { userId: userIds.otherUser }))
    expect((await rowsOf(created, queued, started, other)).notifications).toEqual([sending])
  })
})

describe('the inbox', () => {
  const row = {
    event_id: ids.event,
    org_id: ids.org,
    event_type: trigger.eventType,
    received_at: at(30),
    processed_at: at(31),
  }
  const rule = {
    event_id: ids.event,
    org_id: ids.org,
    subscription_id: trigger.subscriptionId,
    notification_id: notificationIds.notification,
    discard_reason: null,
  }

  it('contains the events that rules matched', async () => {
    expect(await rowsOf(created)).toMatchObject({ inbox: [row], rules: [rule] })
    expect(await rowsOf(own(fact('NotificationDiscarded')))).toEqual({
      notifications: [],
      attempts: [],
      inbox: [row],
      rules: [{ ...rule, discard_reason: 'event_too_old' }],
    })
  })

  it('contains an event once for all of its rules', async () => {
    const subscriptionId = userIds.otherUser
    const second = { trigger: { ...trigger, subscriptionId }, notificationId: userIds.user, discardedAt: at(40) }
    const { inbox, rules } = await rowsOf(created, own(fact('NotificationDiscarded', second)))
    expect(inbox).toEqual([{ ...row, processed_at: at(40) }])
    expect(rules).toHaveLength(2)
  })

  it('contains no requests of clients', async () => {
    const ofClient = await rowsOf(own(fact('NotificationCreated', { trigger: null })))
    expect(ofClient).toMatchObject({ inbox: [], rules: [] })
  })
})

describe('the patient of a notification', () => {
  it.each([
    ['is the one whom its variables concern', {}, ids.patient],
    ['is none if it is about a user', { phiSubject: userIds.user, phiKeyOwner: 'platform' }, null],
    ['is none if it is about nobody', { phiSubject: notificationIds.notification }, null],
  ] as const)('%s', async (_, changes, patient) => {
    const { notifications } = await rowsOf(own(fact('NotificationCreated', changes)))
    expect(notifications).toMatchObject([{ patient_id: patient }])
  })
})
