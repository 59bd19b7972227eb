import { describe, expect, it } from 'vitest'
import { webhooksProcess } from '../../../processes/webhooks/webhooks.process.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { webhookDeliveries } from '../../../streams/webhook-delivery/aggregate.ts'
import { webhookRecoveries } from '../../../streams/webhook-recovery/aggregate.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { recorded, type GivenEvent } from '../../support/given-projector.ts'
import { rowsInMemory } from '../../support/rows-in-memory.ts'
import { assessmentFact, at, ids } from '../../streams/facts.ts'
import { deliveryFact, recovery, recoveryFact, subscriptionFact } from '../../streams/webhook-facts.ts'

const ofSubscription = (...[type, changes]: Parameters<typeof subscriptionFact>): GivenEvent => ({
  ...subscriptionFact(type, changes),
  stream: webhookSubscriptions.of(ids.org).stream,
})
const ofDelivery = (...[type, changes]: Parameters<typeof deliveryFact>): GivenEvent => ({
  ...deliveryFact(type, changes),
  stream: webhookDeliveries.of(ids.org, ids.delivery).stream,
})

const completed: GivenEvent = {
  ...assessmentFact('AssessmentCompleted'),
  stream: assessments.of(ids.org, ids.assessment).stream,
  id: ids.event,
}
const failed: GivenEvent = {
  ...assessmentFact('AssessmentFailed'),
  stream: assessments.of(ids.org, ids.assessment).stream,
  id: ids.event,
}
const subscribed = ofSubscription('WebhookSubscribed')
const another: GivenEvent = ofSubscription('WebhookSubscribed', { subscriptionId: ids.claim })
const disabled = ofSubscription('WebhookSubscriptionDisabled')
const enabled = ofSubscription('WebhookSubscriptionEnabled')
const deleted = ofSubscription('WebhookSubscriptionDeleted')
const moved = ofSubscription('WebhookSubscriptionChanged')
const redescribed = ofSubscription('WebhookSubscriptionChanged', {
  isNewEndpoint: false,
  eventTypes: ['assessment.failed'],
})
const attemptFailed = ofDelivery('WebhookDeliveryAttemptFailed')

/** What is due in which lane, and when; ordered by key and step. */
function steps(...given: GivenEvent[]) {
  const { todo = [] } = rowsInMemory(webhooksProcess.list, recorded(given))
  return todo.map(({ key, step, org_id, lane, due_at }) => ({ key, step, org: org_id, lane, due: due_at }))
}

/** But for what becomes of the secrets of a deleted one. */
function stepsButDestroying(...given: GivenEvent[]) {
  return steps(...given).filter(({ step }) => step !== 'destroy-secrets')
}

function payloads(...given: GivenEvent[]): unknown[] {
  const { todo = [] } = rowsInMemory(webhooksProcess.list, recorded(given))
  return todo.map(({ payload }) => payload)
}

const key = `${ids.subscription}.${ids.event}`
const deliver = (seconds: number, subscription: string = ids.subscription) => ({
  key: `${subscription}.${ids.event}`,
  step: 'deliver',
  org: ids.org,
  lane: subscription,
  due: at(seconds),
})
const free = (of: string, step: string, seconds: number) => ({
  key: of,
  step,
  org: ids.org,
  lane: '-',
  due: at(seconds),
})
const cause = (eventId: unknown = expect.any(String)) => ({ eventId, correlationId: expect.any(String) })
const told = {
  subscriptionId: ids.subscription,
  eventId: ids.event,
  eventType: 'assessment.completed',
  assessmentId: ids.assessment,
}

describe('who is told of the end of an assessment', () => {
  it('is each subscription of its organisation that wants to know', () => {
    const only = ofSubscription('WebhookSubscribed', { subscriptionId: ids.claim, eventTypes: ['assessment.failed'] })
    expect(steps(subscribed, only, completed)).toEqual([deliver(30)])
    expect(steps(subscribed, only, failed)).toEqual([deliver(30), deliver(30, ids.claim)])
  })

  it('is nobody without a subscription, of another organisation, or that subscribed later', () => {
    expect(steps(completed)).toEqual([])
    expect(steps(ofSubscription('WebhookSubscribed', { organisationId: ids.otherOrg }), completed)).toEqual([])
    expect(steps(completed, subscribed)).toEqual([])
  })

  it('is whoever is active, and wants the event, at its place in the log', () => {
    expect(steps(subscribed, disabled, completed)).toEqual([])
    expect(steps(subscribed, disabled, enabled, completed)).toEqual([deliver(30)])
    expect(stepsButDestroying(subscribed, deleted, completed)).toEqual([])
    expect(steps(subscribed, redescribed, completed)).toEqual([])
    expect(steps(subscribed, redescribed, failed)).toEqual([deliver(30)])
    expect(steps(subscribed, completed, redescribed)).toEqual([deliver(30)])
  })

  it('is told which event of which assessment, and nothing of what was found', () => {
    expect(payloads(subscribed, completed)).toEqual([{ cause: cause(ids.event), ...told, occurredAt: at(30) }])
  })
})

describe('when a delivery is due again', () => {
  it('is after each failed attempt, at the instant that it names', () => {
    expect(steps(subscribed, completed, attemptFailed)).toContainEqual(deliver(37))
    expect(
      steps(subscribed, completed, ofDelivery('WebhookDeliveryScheduled'), ofDelivery('WebhookDeliveryAttempted')),
    ).toEqual([deliver(30)])
  })

  it.each(['WebhookDelivered', 'WebhookDeliveryFailed', 'WebhookDeliveryCancelled'] as const)(
    'is never after %s',
    (type) => {
      const end = ofDelivery(type, type === 'WebhookDeliveryFailed' ? { endpoint: null } : {})
      expect(steps(subscribed, completed, end)).toEqual([])
      expect(steps(subscribed, another, completed, end)).toEqual([deliver(30, ids.claim)])
    },
  )

  it('is at once when it is asked for, whatever it came to', () => {
    const again = ofDelivery('WebhookRedeliveryRequested')
    expect(steps(subscribed, completed, ofDelivery('WebhookDelivered'), again)).toEqual([deliver(60)])
    expect(payloads(subscribed, again)).toEqual([{ cause: cause(), ...told, occurredAt: null }])
  })

  it('is at once for a test, which has a row of its own', () => {
    const test = { origin: 'test', eventType: 'webhook.test', assessmentId: null } as const
    expect(steps(subscribed, ofDelivery('WebhookDeliveryScheduled', test))).toEqual([deliver(31)])
    expect(payloads(subscribed, ofDelivery('WebhookDeliveryScheduled', test))).toEqual([
      { cause: cause(), ...told, eventType: 'webhook.test', assessmentId: null, occurredAt: null },
    ])
  })
})

describe('a recovery', () => {
  const recovered: GivenEvent = {
    ...recoveryFact('WebhookRecoveryRequested'),
    stream: webhookRecoveries.of(ids.org, recovery).stream,
  }

  it('has each of its deliveries asked for again, once', () => {
    expect(steps(subscribed, recovered)).toEqual([free(key, 'redeliver', 61)])
    expect(payloads(subscribed, recovered)).toEqual([
      { cause: cause(), subscriptionId: ids.subscription, deliveryId: ids.delivery, recoveryId: recovery },
    ])
    expect(steps(subscribed, recovered, ofDelivery('WebhookRedeliveryRequested'))).toEqual([deliver(60)])
    expect(steps(subscribed, recovered, recovered)).toEqual([free(key, 'redeliver', 61)])
  })

  it.each([ofDelivery('WebhookDelivered'), ofDelivery('WebhookRedeliveryUnneeded'), disabled, deleted])(
    'is over for one with $type',
    (event) => {
      expect(stepsButDestroying(subscribed, recovered, event)).toEqual([])
    },
  )

  it('is over where it finds that there is nothing to do, and takes nothing away that is under way', () => {
    expect(steps(subscribed, completed, recovered, ofDelivery('WebhookRedeliveryUnneeded'))).toEqual([deliver(30)])
  })

  it.each([disabled, deleted])('has nothing asked for again after $type, which would stand for ever', (event) => {
    expect(stepsButDestroying(subscribed, event, recovered)).toEqual([])
  })
})

describe('a subscription that is disabled or deleted', () => {
  it.each([
    { event: disabled, reason: 'subscription_disabled', seconds: 20 },
    { event: deleted, reason: 'subscription_deleted', seconds: 50 },
  ])('has what is pending cancelled: $event.type', ({ event, reason, seconds }) => {
    expect(stepsButDestroying(subscribed, another, completed, event)).toEqual([
      free(key, 'cancel', seconds),
      deliver(30, ids.claim),
    ])
    const payload = payloads(subscribed, another, completed, event).find((one) => Object.hasOwn(Object(one), 'reason'))
    expect(payload).toEqual({
      cause: cause(),
      reason,
      delivery: { cause: cause(ids.event), ...told, occurredAt: at(30) },
    })
  })

  it('has it cancelled also when it is enabled again at once', () => {
    expect(steps(subscribed, completed, disabled, enabled)).toEqual([free(key, 'cancel', 20)])
    expect(stepsButDestroying(subscribed, completed, disabled, deleted)).toEqual([free(key, 'cancel', 20)])
  })

  it('has it cancelled and due again where it was asked for in between', () => {
    const asked = [
      subscribed,
      completed,
      disabled,
      enabled,
      ofDelivery('WebhookRedeliveryUnneeded', { endpointRevision: 3 }),
    ]
    expect(steps(...asked)).toEqual([free(key, 'cancel', 20)])
    const again = ofDelivery('WebhookRedeliveryRequested', { endpointRevision: 3, request: null })
    expect(steps(...asked, ofDelivery('WebhookDeliveryCancelled'), again)).toEqual([deliver(60)])
  })

  it.each(['WebhookDeliveryCancelled', 'WebhookDelivered'] as const)('has nothing left to cancel after %s', (type) => {
    expect(steps(subscribed, completed, disabled, ofDelivery(type))).toEqual([])
  })

  it('may be told of an attempt that failed meanwhile, which makes nothing due', () => {
    expect(steps(subscribed, completed, disabled, attemptFailed)).toEqual([free(key, 'cancel', 20)])
    expect(stepsButDestroying(subscribed, completed, deleted, attemptFailed)).toEqual([free(key, 'cancel', 50)])
    const afterwards = ofDelivery('WebhookDeliveryAttemptFailed', { nextAttemptAt: null })
    expect(steps(subscribed, completed, disabled, ofDelivery('WebhookDeliveryCancelled'), afterwards)).toEqual([])
  })

  it('has its secrets destroyed an hour after it was deleted, once', () => {
    expect(steps(subscribed, deleted)).toEqual([free(ids.subscription, 'destroy-secrets', 3_650)])
    expect(payloads(subscribed, deleted)).toEqual([{ cause: cause() }])
    expect(steps(subscribed, disabled)).toEqual([])
    expect(steps(subscribed, deleted, ofSubscription('WebhookSecretsDestroyed'))).toEqual([])
  })
})

describe('an endpoint that fails', () => {
  const watch = free(ids.subscription, 'watch', 216_032)
  const again = ofDelivery('WebhookDeliveryAttemptFailed', {
    attempt: 2,
    failedAt: at(40),
    nextAttemptAt: at(340),
    endpoint: { revision: 0, reviewAt: at(216_040) },
  })
  const delivered = ofDelivery('WebhookDelivered', { deliveredAt: at(50) })

  it('is looked at when half of its time has passed since the first failure', () => {
    expect(steps(subscribed, completed, attemptFailed)).toEqual([watch, deliver(37)])
    expect(steps(subscribed, completed, attemptFailed, again)).toEqual([watch, deliver(340)])
    expect(steps(subscribed, completed, ofDelivery('WebhookDeliveryFailed'))).toEqual([watch])
    expect(payloads(subscribed, attemptFailed)).toEqual([{ cause: cause(), endpointRevision: 0, failingSince: at(32) }])
  })

  it('is watched no more after a success, and anew after the next failure', () => {
    expect(steps(subscribed, completed, attemptFailed, delivered)).toEqual([])
    expect(steps(subscribed, completed, attemptFailed, delivered, again)).toEqual([
      free(ids.subscription, 'watch', 216_040),
    ])
  })

  it.each([moved, disabled, deleted])(
    'is watched no more after $type, and does not answer for what was under way then',
    (event) => {
      expect(stepsButDestroying(subscribed, attemptFailed, event)).toEqual([])
      expect(stepsButDestroying(subscribed, attemptFailed, event, again)).toEqual([])
      expect(
        stepsButDestroying(subscribed, event, again, ofDelivery('WebhookDeliveryFailed', { statusCode: 410 })),
      ).toEqual([])
    },
  )

  it('is watched all the same when only its description changes', () => {
    expect(steps(subscribed, attemptFailed, redescribed)).toEqual([watch])
  })

  it('is another one once it is enabled again', () => {
    expect(steps(subscribed, disabled, enabled, attemptFailed)).toEqual([])
    const since = ofDelivery('WebhookDeliveryAttemptFailed', { endpoint: { revision: 2, reviewAt: at(216_032) } })
    expect(steps(subscribed, disabled, enabled, since)).toEqual([watch])
  })

  it('is looked at next when the last warning says, if that is of this row of failures', () => {
    expect(steps(subscribed, attemptFailed, ofSubscription('WebhookEndpointFailing'))).toEqual([
      free(ids.subscription, 'watch', 302_432),
    ])
    expect(steps(subscribed, attemptFailed, ofSubscription('WebhookEndpointFailing', { failingSince: at(1) }))).toEqual(
      [watch],
    )
    expect(steps(subscribed, ofSubscription('WebhookEndpointFailing'))).toEqual([])
  })

  it('is not failing for a test, nor for what was recorded before endpoints were counted', () => {
    expect(steps(subscribed, completed, ofDelivery('WebhookDeliveryAttemptFailed', { endpoint: null }))).toEqual([
      deliver(37),
    ])
    expect(steps(subscribed, ofDelivery('WebhookDeliveryFailed', { endpoint: null, statusCode: 410 }))).toEqual([])
  })

  it('is to be disabled when it has answered 410', () => {
    expect(steps(subscribed, completed, ofDelivery('WebhookDeliveryFailed', { statusCode: 410 }))).toEqual([
      free(ids.subscription, 'disable', 32),
      watch,
    ])
    expect(steps(subscribed, ofDelivery('WebhookDeliveryFailed', { statusCode: 410 }), disabled)).toEqual([])
  })
})
