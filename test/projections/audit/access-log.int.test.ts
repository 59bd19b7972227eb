import { describe, expect, it } from 'vitest'
import { accessLogProjector } from '../../../projections/audit/access-log.projector.ts'
import { notifications } from '../../../streams/notification/aggregate.ts'
import { webhookDeliveries } from '../../../streams/webhook-delivery/aggregate.ts'
import { recorded, rowsAfter, type GivenEvent } from '../../support/given-projector.ts'
import { accessLogFact as fact, accessLogIds, accessMonthFact, ofAccessLog } from '../../streams/access-log-facts.ts'
import { at, ids } from '../../streams/facts.ts'
import { notificationFact, notificationIds } from '../../streams/notification-facts.ts'
import { userIds } from '../../streams/user-facts.ts'
import { deliveryFact } from '../../streams/webhook-facts.ts'

const first = ofAccessLog(fact('AccessRecorded'))
const rowsOf = (...given: readonly GivenEvent[]) => rowsAfter(accessLogProjector, recorded(given))

const access = {
  access_id: accessLogIds.access,
  org_id: ids.org,
  at: at(0),
  month: '2026-03',
  client_id: ids.client,
  user_id: accessLogIds.user,
  patient_ids: [ids.patient],
  subject_user_id: null,
  categories: ['images', 'results'],
  operation: 'getAssessment',
  purpose: 'TREAT',
  request_id: 'request-1',
  source_address: 'canary-address',
  recipient_ref: null,
  recipient_key: null,
  count: 1,
}
const person = { org_id: ids.org, person_id: ids.patient, at: at(0), access_id: accessLogIds.access, month: '2026-03' }

describe('the access log', () => {
  it('has a row for each access, and one for each of its persons', async () => {
    expect(await rowsOf(first)).toEqual({ accesses: [access], access_persons: [person], mails: [] })
    const subjectUserId = userIds.user
    const two = ofAccessLog(fact('AccessRecorded', { patientIds: [ids.patient, ids.otherPatient], subjectUserId }))
    const { access_persons: persons } = await rowsOf(two)
    expect(persons?.map(({ person_id: id }) => id)).toEqual([userIds.user, ids.patient, ids.otherPatient])
  })

  it('has the number of all answers of a window', async () => {
    const { accesses } = await rowsOf(first, ofAccessLog(fact('AccessRepeated')))
    expect(accesses).toEqual([{ ...access, count: 3 }])
  })

  it('takes a count whose access is past the retention', async () => {
    expect(await rowsOf(ofAccessLog(fact('AccessRepeated')))).toMatchObject({ accesses: [] })
  })

  it('loses a month, in every organisation, when its retention is over', async () => {
    const april = { accessId: userIds.otherUser, at: '2026-04-01T00:00:00.000Z' }
    const later = ofAccessLog(fact('AccessRecorded', april))
    const elsewhere = ofAccessLog(
      fact('AccessRecorded', { accessId: ids.review, organisationId: ids.otherOrg }),
      ids.otherOrg,
    )
    const rows = await rowsOf(first, elsewhere, later, accessMonthFact('AccessMonthEnded'))
    expect(rows['accesses']?.map(({ access_id: id }) => id)).toEqual([april.accessId])
    expect(rows['access_persons']?.map(({ access_id: id }) => id)).toEqual([april.accessId])
  })
})

describe('an attempt of a webhook', () => {
  const stream = webhookDeliveries.of(ids.org, ids.delivery).stream

  it('is an access if the message shows something personal', async () => {
    const shown = { patientId: ids.patient, categories: ['images' as const, 'results' as const] }
    const given = { ...deliveryFact('WebhookDeliveryAttempted', { shown }), stream, id: ids.claim }
    const { accesses, access_persons: persons } = await rowsOf(given)
    expect(accesses).toEqual([
      {
        ...access,
        access_id: ids.claim,
        at: at(31),
        client_id: null,
        user_id: null,
        operation: 'webhook',
        purpose: null,
        request_id: ids.delivery,
        source_address: null,
      },
    ])
    expect(persons).toEqual([{ ...person, at: at(31), access_id: ids.claim }])
  })

  it('is none if the message is thin', async () => {
    const given = { ...deliveryFact('WebhookDeliveryAttempted'), stream }
    expect(await rowsOf(given)).toEqual({ accesses: [], access_persons: [], mails: [] })
  })
})

describe('a mail', () => {
  const { stream } = notifications.of(ids.org, notificationIds.notification)
  const created = { ...notificationFact('NotificationCreated'), stream }
  const sent = { ...notificationFact('NotificationSent'), stream, id: ids.claim }
  const { sentAt } = notificationFact.usual.NotificationSent

  it('about a patient is an access of its recipient once it is sent', async () => {
    expect(await rowsOf(created)).toMatchObject({ accesses: [], mails: [{ patient_id: ids.patient }] })
    expect(await rowsOf(created, sent)).toEqual({
      accesses: [
        {
          ...access,
          access_id: ids.claim,
          at: sentAt,
          month: sentAt.slice(0, 7),
          client_id: null,
          user_id: null,
          recipient_ref: userIds.user,
          recipient_key: notificationFact.usual.NotificationCreated.recipientKey,
          categories: ['notifications'],
          operation: 'email',
          purpose: null,
          request_id: notificationIds.notification,
          source_address: null,
        },
      ],
      access_persons: [{ ...person, at: sentAt, month: sentAt.slice(0, 7), access_id: ids.claim }],
      mails: [],
    })
  })

  it('about nobody is none', async () => {
    const about = { phiSubject: userIds.user, phiKeyOwner: 'platform' as const }
    const given = { ...notificationFact('NotificationCreated', about), stream }
    expect(await rowsOf(given, sent)).toEqual({ accesses: [], access_persons: [], mails: [] })
  })
})
