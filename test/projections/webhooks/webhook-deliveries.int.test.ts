import { v5 } from 'uuid'
import { describe, expect, it } from 'vitest'
import { webhooksProcess } from '../../../processes/webhooks/webhooks.process.ts'
import { webhookDeliveriesProjector } from '../../../projections/webhooks/webhook-deliveries.projector.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { deliveryIdOf } from '../../../streams/webhook-delivery/aggregate.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { SeededRandom } from 'embedded-eventstore/seeded-random'
import { recorded, rowsAfter, rowsAfterBatch, type GivenEvent } from '../../support/given-projector.ts'
import { assessmentFact, at, ids } from '../../streams/facts.ts'
import { deliveryFact as fact, subscriptionFact } from '../../streams/webhook-facts.ts'
import { storyOf, type Move } from '../../../tools/equality/histories.ts'
import { recordedLog } from '../../../tools/equality/story.ts'

const scheduled = fact('WebhookDeliveryScheduled')
const attempted = fact('WebhookDeliveryAttempted')
const attemptFailed = fact('WebhookDeliveryAttemptFailed')
const second = fact('WebhookDeliveryAttempted', { attempt: 2, attemptedAt: at(37), leaseUntil: at(57) })

async function rowsOf(...given: readonly GivenEvent[]) {
  const { deliveries = [], attempts = [] } = await rowsAfter(webhookDeliveriesProjector, recorded(given))
  return { deliveries, attempts }
}

const pending = {
  delivery_id: ids.delivery,
  org_id: ids.org,
  subscription_id: ids.subscription,
  event_id: ids.event,
  event_type: 'assessment.completed',
  assessment_id: ids.assessment,
  origin: 'event',
  status: 'pending',
  created_at: at(30),
  next_attempt_at: at(31),
  failed_at: null,
  stream_revision: '0',
}
const open = {
  delivery_id: ids.delivery,
  attempt: 1,
  at: at(31),
  status_code: null,
  duration_ms: null,
  error_class: null,
}
const refused = { ...open, status_code: 500, duration_ms: 120, error_class: 'http_status' }

const subscribed = { ...subscriptionFact('WebhookSubscribed'), stream: webhookSubscriptions.of(ids.org).stream }
const completed: GivenEvent = {
  ...assessmentFact('AssessmentCompleted'),
  stream: assessments.of(ids.org, ids.assessment).stream,
  id: ids.event,
}
const due = {
  ...pending,
  delivery_id: deliveryIdOf(ids.subscription, ids.event),
  next_attempt_at: at(30),
  stream_revision: '-1',
}

describe('a delivery', () => {
  const deliveriesAfter = async (...given: readonly GivenEvent[]) => (await rowsOf(...given)).deliveries
  const ofDue = (...[type, changes]: Parameters<typeof fact>): GivenEvent => ({
    ...fact(type, { ...changes, deliveryId: due.delivery_id }),
    stream: 'due',
  })

  it('is pending from its event on, under the id of its stream', async () => {
    expect(await deliveriesAfter(subscribed, completed)).toEqual([due])
    expect(await deliveriesAfter(subscribed, completed, ofDue('WebhookDeliveryScheduled'))).toEqual([
      { ...due, next_attempt_at: at(31), stream_revision: '0' },
    ])
    const delivered = await deliveriesAfter(
      subscribed,
      completed,
      ofDue('WebhookDeliveryScheduled'),
      ofDue('WebhookDeliveryAttempted'),
      ofDue('WebhookDelivered'),
    )
    expect(delivered).toEqual([{ ...due, status: 'delivered', next_attempt_at: null, stream_revision: '2' }])
  })

  it('has the same id as in the streams, for any ids', async () => {
    const events = Array.from({ length: 64 }, (_, index) => ({ ...completed, id: v5(`event ${index}`, ids.event) }))
    const subscriptions = Array.from({ length: 4 }, (_, index) => v5(`subscription ${index}`, ids.subscription))
    const subscribing = subscriptions.map((subscriptionId) => ({
      ...subscriptionFact('WebhookSubscribed', { subscriptionId }),
      stream: webhookSubscriptions.of(ids.org).stream,
    }))
    const found = (await deliveriesAfter(...subscribing, ...events)).map(({ delivery_id }) => String(delivery_id))
    expect(found.toSorted()).toEqual(
      subscriptions.flatMap((subscriptionId) => events.map(({ id }) => deliveryIdOf(subscriptionId, id))).toSorted(),
    )
  })

  it("has one row for each row of the process's to-do list, after any changes of subscriptions", async () => {
    const random = new SeededRandom(20_261_123)
    const acts = [
      'requestAssessment',
      'requestAssessment',
      'advanceAssessment',
      'advanceAssessment',
      'reviewAssessment',
      'advanceDelivery',
      'subscribe',
      'changeSubscription',
      'redeliver',
      'testSubscription',
    ] as const
    const moves = Array.from({ length: 700 }, (): Move => ({
      act: random.pick(acts),
      chance: random.below(2 ** 32),
      text: 'text',
    }))
    // Single events take most of the time. In 200 moves, subscriptions change between deliveries.
    const begin = recordedLog(storyOf(moves.slice(0, 200), ids.event).appends)
    for (const projector of [webhookDeliveriesProjector, webhooksProcess.list]) await rowsAfter(projector, begin)
    const { appends, deliveries: all } = storyOf(moves, ids.event)
    const events = recordedLog(appends)
    const { deliveries } = await rowsAfterBatch(webhookDeliveriesProjector, events)
    const { todo = [] } = await rowsAfterBatch(webhooksProcess.list, events)
    const keysOfBegun = new Set(
      all.filter(({ isScheduled }) => isScheduled).map(({ subscriptionId, eventId }) => `${subscriptionId}.${eventId}`),
    )
    const untouched = todo.filter(
      ({ step, key }) => (step === 'deliver' || step === 'cancel') && !keysOfBegun.has(String(key)),
    )
    const listed =
      deliveries?.filter(({ status, stream_revision }) => status === 'pending' && stream_revision === '-1') ?? []
    expect(untouched.map(({ step }) => step)).toEqual(expect.arrayContaining(['deliver', 'cancel']))
    expect(
      listed.map(({ subscription_id, event_id }) => `${String(subscription_id)}.${String(event_id)}`).toSorted(),
    ).toEqual(untouched.map(({ key }) => String(key).toLowerCase()).toSorted())
    expect(deliveries?.length).toBe(all.length)
  })
})

describe('the log of deliveries', () => {
  it('contains a delivery from its schedule on, and its attempts', async () => {
    expect(await rowsOf(scheduled)).toEqual({ deliveries: [pending], attempts: [] })
    expect(await rowsOf(scheduled, attempted)).toEqual({
      deliveries: [{ ...pending, stream_revision: '1' }],
      attempts: [open],
    })
  })

  it('contains a test, which has no assessment', async () => {
    const test = fact('WebhookDeliveryScheduled', { eventType: 'webhook.test', assessmentId: null, origin: 'test' })
    expect(await rowsOf(test)).toEqual({
      deliveries: [{ ...pending, event_type: 'webhook.test', assessment_id: null, origin: 'test' }],
      attempts: [],
    })
  })

  it('contains the outcome of an attempt, and the due time of the next one', async () => {
    const delivered = { ...pending, status: 'delivered', next_attempt_at: null, stream_revision: '2' }
    expect(await rowsOf(scheduled, attempted, fact('WebhookDelivered'))).toEqual({
      deliveries: [delivered],
      attempts: [{ ...open, status_code: 204, duration_ms: 120 }],
    })
    expect(await rowsOf(scheduled, attempted, attemptFailed)).toEqual({
      deliveries: [{ ...pending, next_attempt_at: at(37), stream_revision: '2' }],
      attempts: [refused],
    })
    const last = fact('WebhookDeliveryFailed', { attempt: 2 })
    expect(await rowsOf(scheduled, attempted, attemptFailed, second, last)).toEqual({
      deliveries: [
        { ...pending, status: 'failed', next_attempt_at: null, failed_at: last.data.failedAt, stream_revision: '4' },
      ],
      attempts: [refused, { ...open, attempt: 2, at: at(37), duration_ms: 120, error_class: 'timeout' }],
    })
  })

  it('has one row for an attempt that was repeated under its number after a crash', async () => {
    const again = fact('WebhookDeliveryAttempted', { attemptedAt: at(52), leaseUntil: at(72) })
    const { attempts } = await rowsOf(scheduled, attempted, again, attemptFailed)
    expect(attempts).toEqual([{ ...refused, at: at(52) }])
  })

  it('shows a delivery as pending again after a redelivery request, with continued attempt numbers', async () => {
    const { deliveries, attempts } = await rowsOf(
      scheduled,
      attempted,
      fact('WebhookDeliveryFailed', { attempt: 1 }),
      fact('WebhookRedeliveryRequested'),
      second,
    )
    expect(deliveries).toEqual([{ ...pending, next_attempt_at: at(60), stream_revision: '4' }])
    expect(attempts.map(({ attempt, duration_ms }) => [attempt, duration_ms])).toEqual([
      [1, 120],
      [2, null],
    ])
  })

  it('shows a delivery as cancelled, then as delivered if the receiver accepted the running attempt', async () => {
    const cancelled = fact('WebhookDeliveryCancelled')
    const row = { ...pending, status: 'cancelled', next_attempt_at: null }
    expect(await rowsOf(scheduled, cancelled)).toEqual({ deliveries: [{ ...row, stream_revision: '1' }], attempts: [] })
    expect(await rowsOf(scheduled, attempted, cancelled)).toEqual({
      deliveries: [{ ...row, stream_revision: '2' }],
      attempts: [open],
    })
    const late = await rowsOf(scheduled, attempted, cancelled, fact('WebhookDelivered'))
    expect(late.deliveries).toEqual([{ ...row, status: 'delivered', stream_revision: '3' }])
    expect(late.attempts).toEqual([{ ...open, status_code: 204, duration_ms: 120 }])
  })

  it('still shows a delivery as cancelled if the receiver refused the running attempt, and the attempt as ended', async () => {
    const cancelled = fact('WebhookDeliveryCancelled')
    expect(
      await rowsOf(scheduled, attempted, cancelled, fact('WebhookDeliveryAttemptFailed', { nextAttemptAt: null })),
    ).toEqual({
      deliveries: [{ ...pending, status: 'cancelled', next_attempt_at: null, stream_revision: '3' }],
      attempts: [refused],
    })
  })

  it('shows the earlier time of the next try that an operator asked for', async () => {
    const forward = fact('WebhookDeliveryBroughtForward', { nextAttemptAt: at(35) })
    const { deliveries } = await rowsOf(scheduled, attempted, attemptFailed, forward)
    expect(deliveries).toEqual([{ ...pending, next_attempt_at: at(35), stream_revision: '3' }])
  })

  it('follows the revision after a redelivery request without effect', async () => {
    const { deliveries } = await rowsOf(scheduled, attempted, fact('WebhookRedeliveryUnneeded'))
    expect(deliveries).toEqual([{ ...pending, stream_revision: '2' }])
  })
})
