import { describe, expect, it } from 'vitest'
import { bringDeliveryForward } from '../../../commands/webhooks/bring-delivery-forward.ts'
import { viewOfDelivery } from '../../../commands/webhooks/views.ts'
import { recover } from '../../../commands/webhooks/recover.ts'
import { isRepeatedRedelivery, redeliver } from '../../../commands/webhooks/redeliver.ts'
import { sendTest } from '../../../commands/webhooks/send-test.ts'
import { webhookDeliveries } from '../../../streams/webhook-delivery/aggregate.ts'
import { webhookRecoveries } from '../../../streams/webhook-recovery/aggregate.ts'
import { given } from '../../support/given-decider.ts'
import { at, hash, ids } from '../../streams/facts.ts'
import { deliveryFact as fact, recovery, recoveryFact } from '../../streams/webhook-facts.ts'

const scheduled = fact('WebhookDeliveryScheduled')
const attempted = fact('WebhookDeliveryAttempted')
const ends = [
  [scheduled, attempted, fact('WebhookDelivered')],
  [scheduled, attempted, fact('WebhookDeliveryFailed', { attempt: 1 })],
  [scheduled, fact('WebhookDeliveryCancelled')],
]
const keyed = { key: hash('c'), fingerprint: hash('f') }

describe('testing a subscription', () => {
  const named = {
    deliveryId: ids.delivery,
    subscriptionId: ids.subscription,
    organisationId: ids.org,
    eventId: ids.event,
  }
  const command = { ...named, isActive: true, request: keyed, now: new Date(at(5)) }
  const test = fact('WebhookDeliveryScheduled', {
    eventType: 'webhook.test',
    assessmentId: null,
    origin: 'test',
    occurredAt: at(5),
    scheduledAt: at(5),
    request: keyed,
  })

  it('makes a delivery without an event, once for each key', () => {
    given(webhookDeliveries).when(sendTest, command).thenEvents([test])
    given(webhookDeliveries, test)
      .when(sendTest, { ...command, request: { ...keyed, fingerprint: hash('e') } })
      .thenRefused('idempotency-key-reused')
  })

  it('is refused while the subscription is disabled, except for a repeat', () => {
    given(webhookDeliveries)
      .when(sendTest, { ...command, isActive: false })
      .thenRefused('webhook-subscription-disabled')
    given(webhookDeliveries, test)
      .when(sendTest, { ...command, isActive: false })
      .thenNothing()
  })
})

describe('bringing the next try of a delivery forward', () => {
  const failed = fact('WebhookDeliveryAttemptFailed', { nextAttemptAt: at(340) })
  const now = new Date(at(40))
  const forward = fact('WebhookDeliveryBroughtForward', { nextAttemptAt: at(40) })

  it('makes it due now, once, at its place in the schedule', () => {
    const after = given(webhookDeliveries, scheduled, attempted, failed)
      .when(bringDeliveryForward, { now })
      .thenEvents([forward])
    expect(after).toMatchObject({ status: 'pending', nextAttemptAt: at(40), finishedAttempts: 1, roundFrom: 0 })
    given(webhookDeliveries, scheduled, attempted, failed, forward).when(bringDeliveryForward, { now }).thenNothing()
  })

  it.each(ends)('changes nothing after its end', (...story) => {
    given(webhookDeliveries, ...story)
      .when(bringDeliveryForward, { now })
      .thenNothing()
  })
})

describe('requesting a delivery again', () => {
  const never = { endpointRevision: 0, disabledRevision: null }
  const command = {
    subscriptionId: ids.subscription,
    due: null,
    isActive: true,
    ...never,
    recoveryId: null,
    request: keyed,
    now: new Date(at(60)),
  }

  it('begins another round after any end, and nothing for a second request meanwhile', () => {
    for (const ended of ends) {
      given(webhookDeliveries, ...ended)
        .when(redeliver, command)
        .thenEvents([fact('WebhookRedeliveryRequested')])
      const unkeyed = fact('WebhookRedeliveryRequested', { request: null })
      given(webhookDeliveries, ...ended)
        .when(redeliver, { ...command, request: null })
        .thenEvents([unkeyed])
    }
  })

  it('continues the count of attempts, and begins the schedule anew', () => {
    const failed = [scheduled, attempted, fact('WebhookDeliveryFailed', { attempt: 1 })]
    const { state } = given(webhookDeliveries, ...failed, fact('WebhookRedeliveryRequested'))
    expect(state).toMatchObject({ status: 'pending', finishedAttempts: 1, roundFrom: 1, nextAttemptAt: at(60) })
  })

  it('begins no round of a pending delivery, and records the key', () => {
    const other = { ...keyed, key: hash('d') }
    const pending = [
      [scheduled],
      [scheduled, attempted, fact('WebhookDeliveryAttemptFailed')],
      ...ends.map((ended) => [...ended, fact('WebhookRedeliveryRequested')]),
    ]
    for (const before of pending) {
      const unneeded = fact('WebhookRedeliveryUnneeded', { request: other })
      given(webhookDeliveries, ...before)
        .when(redeliver, { ...command, request: other })
        .thenEvents([unneeded])
      given(webhookDeliveries, ...before)
        .when(redeliver, { ...command, request: null })
        .thenNothing()
      const ended = given(webhookDeliveries, ...before, unneeded, fact('WebhookDeliveryFailed'))
      ended.when(redeliver, { ...command, request: other }).thenNothing()
      expect(isRepeatedRedelivery({ ...command, request: other }, ended.state)).toBe(true)
    }
  })

  it('is recorded once without a key after a disabling, which may still cancel the delivery', () => {
    const asking = { ...command, request: null, endpointRevision: 2, disabledRevision: 1 }
    const unneeded = fact('WebhookRedeliveryUnneeded', { request: null, endpointRevision: 2 })
    const before = [scheduled, attempted, fact('WebhookRedeliveryUnneeded', { request: null, endpointRevision: 0 })]
    given(webhookDeliveries, ...before)
      .when(redeliver, asking)
      .thenEvents([unneeded])
    given(webhookDeliveries, ...before, unneeded)
      .when(redeliver, asking)
      .thenNothing()
    given(webhookDeliveries, ...before, unneeded)
      .when(redeliver, { ...asking, endpointRevision: 4, disabledRevision: 3 })
      .thenEvents([{ ...unneeded, data: { ...unneeded.data, endpointRevision: 4 } }])
    given(
      webhookDeliveries,
      scheduled,
      fact('WebhookDelivered'),
      fact('WebhookRedeliveryRequested', { endpointRevision: 2 }),
    )
      .when(redeliver, asking)
      .thenNothing()
  })

  it('is recorded for twenty keys in a round, and refused to others until its end', () => {
    const requestOf = (number: number) => ({ key: String(number).padStart(64, '0'), fingerprint: hash('f') })
    const asked = Array.from({ length: 20 }, (_, number) =>
      fact('WebhookRedeliveryUnneeded', { request: requestOf(number) }),
    )
    given(webhookDeliveries, scheduled, ...asked.slice(1))
      .when(redeliver, command)
      .thenEvents([fact('WebhookRedeliveryUnneeded')])
    given(webhookDeliveries, scheduled, ...asked)
      .when(redeliver, command)
      .thenRefused('webhook-delivery-pending')
    given(webhookDeliveries, scheduled, ...asked)
      .when(redeliver, { ...command, request: requestOf(7) })
      .thenNothing()
    given(webhookDeliveries, scheduled, ...asked)
      .when(redeliver, { ...command, request: null })
      .thenNothing()
    const byRecovery = { ...command, request: null, recoveryId: recovery }
    given(webhookDeliveries, scheduled, ...asked)
      .when(redeliver, byRecovery)
      .thenEvents([fact('WebhookRedeliveryUnneeded', { request: null, recoveryId: recovery })])
    const again = fact('WebhookRedeliveryRequested', { request: requestOf(20) })
    given(webhookDeliveries, scheduled, ...asked, attempted, fact('WebhookDelivered'))
      .when(redeliver, { ...command, request: requestOf(20) })
      .thenEvents([again])
    given(webhookDeliveries, scheduled, ...asked, attempted, fact('WebhookDelivered'), again)
      .when(redeliver, command)
      .thenEvents([fact('WebhookRedeliveryUnneeded')])
  })

  it('for a recovery begins no round of a delivery that succeeded meanwhile, and records this once', () => {
    const unneeded = fact('WebhookRedeliveryUnneeded', { recoveryId: recovery, request: null })
    const asking = { ...command, recoveryId: recovery, request: null }
    for (const before of [
      [scheduled, attempted, fact('WebhookDelivered')],
      [scheduled, attempted],
    ]) {
      given(webhookDeliveries, ...before)
        .when(redeliver, asking)
        .thenEvents([unneeded])
      given(webhookDeliveries, ...before, unneeded)
        .when(redeliver, asking)
        .thenNothing()
    }
  })

  it('answers the same key equally for ever, also after that round or after a disabling', () => {
    for (const ended of ends) {
      const again = fact('WebhookDelivered', { attempt: 2 })
      const history = given(
        webhookDeliveries,
        ...ended,
        fact('WebhookRedeliveryRequested'),
        fact('WebhookDeliveryAttempted', { attempt: 2 }),
        again,
      )
      history.when(redeliver, command).thenNothing()
      history.when(redeliver, { ...command, isActive: false }).thenNothing()
      history
        .when(redeliver, { ...command, request: { ...keyed, fingerprint: hash('e') } })
        .thenRefused('idempotency-key-reused')
      expect(isRepeatedRedelivery(command, history.state)).toBe(true)
      expect(isRepeatedRedelivery({ ...command, request: null }, history.state)).toBe(false)
    }
  })

  it('is refused while the subscription is disabled, also for a pending delivery, which will be cancelled', () => {
    for (const ended of ends)
      given(webhookDeliveries, ...ended)
        .when(redeliver, { ...command, isActive: false })
        .thenRefused('webhook-subscription-disabled')
    given(webhookDeliveries, scheduled)
      .when(redeliver, { ...command, isActive: false })
      .thenRefused('webhook-subscription-disabled')
  })

  it('of a due delivery that was never attempted begins its stream, once, and records the key', () => {
    const due = { ...scheduled.data, request: null }
    const asking = { ...command, due }
    const begun = fact('WebhookDeliveryScheduled', due)
    given(webhookDeliveries)
      .when(redeliver, asking)
      .thenEvents([begun, fact('WebhookRedeliveryUnneeded')])
    given(webhookDeliveries)
      .when(redeliver, { ...asking, request: null })
      .thenEvents([begun])
    given(webhookDeliveries)
      .when(redeliver, { ...asking, isActive: false })
      .thenRefused('webhook-subscription-disabled')
    given(webhookDeliveries)
      .when(redeliver, { ...asking, subscriptionId: ids.claim })
      .thenRefused('not-found')
    given(webhookDeliveries, begun)
      .when(redeliver, { ...asking, request: null })
      .thenNothing()
    given(webhookDeliveries, begun, attempted, fact('WebhookDelivered'))
      .when(redeliver, asking)
      .thenEvents([fact('WebhookRedeliveryRequested')])
  })

  it('of a due delivery, after a disabling that may still cancel it, is recorded without a key', () => {
    const asking = {
      ...command,
      due: { ...scheduled.data, request: null },
      request: null,
      endpointRevision: 4,
      disabledRevision: 3,
    }
    const unneeded = fact('WebhookRedeliveryUnneeded', { endpointRevision: 4, request: null })
    given(webhookDeliveries)
      .when(redeliver, asking)
      .thenEvents([fact('WebhookDeliveryScheduled', asking.due), unneeded])
  })

  it('is refused for an unknown delivery, and for one of another subscription', () => {
    given(webhookDeliveries).when(redeliver, command).thenRefused('not-found')
    for (const ended of ends)
      given(webhookDeliveries, ...ended)
        .when(redeliver, { ...command, subscriptionId: ids.claim })
        .thenRefused('not-found')
  })

  it('records the id of the recovery', () => {
    const event = fact('WebhookRedeliveryRequested', { recoveryId: recovery, request: null })
    const asking = { ...command, recoveryId: recovery, request: null }
    for (const ended of ends.slice(1)) {
      given(webhookDeliveries, ...ended)
        .when(redeliver, asking)
        .thenEvents([event])
      given(webhookDeliveries, ...ended, event)
        .when(redeliver, asking)
        .thenNothing()
    }
  })
})

describe('recovering', () => {
  const requested = recoveryFact('WebhookRecoveryRequested', { fingerprint: hash('f') })
  const { requestedAt, ...found } = requested.data
  const command = { ...found, isActive: true, now: new Date(requestedAt) }

  it('records the deliveries to send again, once for each key', () => {
    given(webhookRecoveries).when(recover, command).thenEvents([requested])
    given(webhookRecoveries, requested)
      .when(recover, { ...command, fingerprint: hash('e') })
      .thenRefused('idempotency-key-reused')
  })

  it('may find nothing', () => {
    const nothing = recoveryFact('WebhookRecoveryRequested', { ...requested.data, deliveries: [] })
    given(webhookRecoveries)
      .when(recover, { ...command, deliveries: [] })
      .thenEvents([nothing])
  })

  it('is refused while the subscription is disabled, except for a repeat', () => {
    given(webhookRecoveries)
      .when(recover, { ...command, isActive: false })
      .thenRefused('webhook-subscription-disabled')
    given(webhookRecoveries, requested)
      .when(recover, { ...command, isActive: false, deliveries: [] })
      .thenNothing()
  })
})

describe('the view of a delivery', () => {
  it('contains the ended attempts, and the time of the next one', () => {
    const second = fact('WebhookDeliveryAttempted', { attempt: 2, attemptedAt: at(37), leaseUntil: at(57) })
    const { state } = given(webhookDeliveries, scheduled, attempted, fact('WebhookDeliveryAttemptFailed'), second)
    if (state.status === 'absent') return expect.unreachable('nothing was scheduled')
    expect(viewOfDelivery(state)).toMatchObject({
      deliveryId: ids.delivery,
      eventType: 'assessment.completed',
      assessmentId: ids.assessment,
      status: 'pending',
      nextAttemptAt: at(37),
      createdAt: at(30),
      attempts: [{ at: at(31), statusCode: 500, durationMs: 120, errorClass: 'http_status' }],
    })
  })
})
