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

/** The due steps with their concurrency keys and times, ordered by key and step. */
function steps(...given: GivenEvent[]) {
  const { todo = [] } = rowsInMemory(webhooksProcess.list, recorded(given))
  return todo.map(({ key, step, org_id, lane, due_at }) => ({ key, step, org: org_id, lane, due: due_at }))
}

/** Without the step that destroys the secrets of a deleted subscription. */
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
const deliveredEvent = {
  subscriptionId: ids.subscription,
  eventId: ids.event,
  eventType: 'assessment.completed',
  assessmentId: ids.assessment,
}

describe('the deliveries at the end of an assessment', () => {
  it('go to each subscription of its organisation with this event type', () => {
    const only = ofSubscription('WebhookSubscribed', { subscriptionId: ids.claim, eventTypes: ['assessment.failed'] })
    expect(steps(subscribed, only, completed)).toEqual([deliver(30)])
    expect(steps(subscribed, only, failed)).toEqual([deliver(30), deliver(30, ids.claim)])
  })

  it('go to no subscription of another organisation, nor to a later one', () => {
    expect(steps(completed)).toEqual([])
    expect(steps(ofSubscription('WebhookSubscribed', { organisationId: ids.otherOrg }), completed)).toEqual([])
    expect(steps(completed, subscribed)).toEqual([])
  })

  it('go to the subscriptions that are active and have the event type at its place in the log', () => {
    expect(steps(subscribed, disabled, completed)).toEqual([])
    expect(steps(subscribed, disabled, enabled, completed)).toEqual([deliver(30)])
    expect(stepsButDestroying(subscribed, deleted, completed)).toEqual([])
    expect(steps(subscribed, redescribed, completed)).toEqual([])
    expect(steps(subscribed, redescribed, failed)).toEqual([deliver(30)])
    expect(steps(subscribed, completed, redescribed)).toEqual([deliver(30)])
  })

  it('go to the subscriptions that name the decision of the human review, once it is recorded', () => {
    const ofAssessment = (type: Parameters<typeof assessmentFact>[0], id?: string): GivenEvent => ({
      ...assessmentFact(type),
      stream: assessments.of(ids.org, ids.assessment).stream,
      ...(id === undefined ? {} : { id }),
    })
    const naming = ofSubscription('WebhookSubscribed', {
      subscriptionId: ids.claim,
      eventTypes: ['assessment.reviewed'],
    })
    const opened = ofAssessment('AssessmentHumanReviewOpened')
    const decided = ofAssessment('AssessmentHumanReviewDecided', ids.event)
    expect(steps(subscribed, naming, opened, decided)).toEqual([deliver(90, ids.claim)])
    expect(steps(subscribed, naming, opened, ofAssessment('AssessmentHumanReviewCancelled'))).toEqual([])
    expect(payloads(naming, decided)).toEqual([
      {
        cause: cause(ids.event),
        ...deliveredEvent,
        subscriptionId: ids.claim,
        eventType: 'assessment.reviewed',
        occurredAt: at(90),
      },
    ])
  })

  it('contain the ids of the event and the assessment, and no result', () => {
    expect(payloads(subscribed, completed)).toEqual([
      { cause: cause(ids.event), ...deliveredEvent, occurredAt: at(30) },
    ])
  })
})

describe('the next due time of a delivery', () => {
  it('is the instant in the event of each failed attempt', () => {
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

  it('is at once when it is requested again, after any end', () => {
    const again = ofDelivery('WebhookRedeliveryRequested')
    expect(steps(subscribed, completed, ofDelivery('WebhookDelivered'), again)).toEqual([deliver(60)])
    expect(payloads(subscribed, again)).toEqual([{ cause: cause(), ...deliveredEvent, occurredAt: null }])
  })

  it('is at once for a test, which has a row of its own', () => {
    const test = { origin: 'test', eventType: 'webhook.test', assessmentId: null } as const
    expect(steps(subscribed, ofDelivery('WebhookDeliveryScheduled', test))).toEqual([deliver(31)])
    expect(payloads(subscribed, ofDelivery('WebhookDeliveryScheduled', test))).toEqual([
      { cause: cause(), ...deliveredEvent, eventType: 'webhook.test', assessmentId: null, occurredAt: null },
    ])
  })
})

describe('a recovery', () => {
  const recovered: GivenEvent = {
    ...recoveryFact('WebhookRecoveryRequested'),
    stream: webhookRecoveries.of(ids.org, recovery).stream,
  }

  it('requests each of its deliveries again, once', () => {
    expect(steps(subscribed, recovered)).toEqual([free(key, 'redeliver', 61)])
    expect(payloads(subscribed, recovered)).toEqual([
      { cause: cause(), subscriptionId: ids.subscription, deliveryId: ids.delivery, recoveryId: recovery },
    ])
    expect(steps(subscribed, recovered, ofDelivery('WebhookRedeliveryRequested'))).toEqual([deliver(60)])
    expect(steps(subscribed, recovered, recovered)).toEqual([free(key, 'redeliver', 61)])
  })

  it.each([ofDelivery('WebhookDelivered'), ofDelivery('WebhookRedeliveryUnneeded'), disabled, deleted])(
    'makes nothing due after $type of the delivery or its subscription',
    (event) => {
      expect(stepsButDestroying(subscribed, recovered, event)).toEqual([])
    },
  )

  it('ends when it has nothing to do, and removes no pending delivery', () => {
    expect(steps(subscribed, completed, recovered, ofDelivery('WebhookRedeliveryUnneeded'))).toEqual([deliver(30)])
  })

  it.each([disabled, deleted])('requests nothing after $type: such a row would stay for ever', (event) => {
    expect(stepsButDestroying(subscribed, event, recovered)).toEqual([])
  })
})

describe('a subscription that is disabled or deleted', () => {
  it.each([
    { event: disabled, reason: 'subscription_disabled', seconds: 20 },
    { event: deleted, reason: 'subscription_deleted', seconds: 50 },
  ])('has its pending deliveries cancelled: $event.type', ({ event, reason, seconds }) => {
    expect(stepsButDestroying(subscribed, another, completed, event)).toEqual([
      free(key, 'cancel', seconds),
      deliver(30, ids.claim),
    ])
    const payload = payloads(subscribed, another, completed, event).find((one) => Object.hasOwn(Object(one), 'reason'))
    expect(payload).toEqual({
      cause: cause(),
      reason,
      delivery: { cause: cause(ids.event), ...deliveredEvent, occurredAt: at(30) },
    })
  })

  it('has them cancelled also when it is enabled again at once', () => {
    expect(steps(subscribed, completed, disabled, enabled)).toEqual([free(key, 'cancel', 20)])
    expect(stepsButDestroying(subscribed, completed, disabled, deleted)).toEqual([free(key, 'cancel', 20)])
  })

  it('has a delivery cancelled and due again if it was requested in between', () => {
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

  it('has nothing due for an attempt that failed in the meantime', () => {
    expect(steps(subscribed, completed, disabled, attemptFailed)).toEqual([free(key, 'cancel', 20)])
    expect(stepsButDestroying(subscribed, completed, deleted, attemptFailed)).toEqual([free(key, 'cancel', 50)])
    const afterwards = ofDelivery('WebhookDeliveryAttemptFailed', { nextAttemptAt: null })
    expect(steps(subscribed, completed, disabled, ofDelivery('WebhookDeliveryCancelled'), afterwards)).toEqual([])
  })

  it('is tried at the earlier time that an operator asked for', () => {
    const forward = ofDelivery('WebhookDeliveryBroughtForward', { nextAttemptAt: at(35) })
    expect(steps(subscribed, completed, attemptFailed, forward)).toContainEqual(deliver(35))
    expect(steps(subscribed, completed, attemptFailed, ofDelivery('WebhookDelivered'), forward)).toEqual([])
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

  it('is checked when half of its time has passed since the first failure', () => {
    expect(steps(subscribed, completed, attemptFailed)).toEqual([watch, deliver(37)])
    expect(steps(subscribed, completed, attemptFailed, again)).toEqual([watch, deliver(340)])
    expect(steps(subscribed, completed, ofDelivery('WebhookDeliveryFailed'))).toEqual([watch])
    expect(payloads(subscribed, attemptFailed)).toEqual([{ cause: cause(), endpointRevision: 0, failingSince: at(32) }])
  })

  it('is no longer watched after a success, and again after the next failure', () => {
    expect(steps(subscribed, completed, attemptFailed, delivered)).toEqual([])
    expect(steps(subscribed, completed, attemptFailed, delivered, again)).toEqual([
      free(ids.subscription, 'watch', 216_040),
    ])
  })

  it.each([moved, disabled, deleted])(
    'is no longer watched after $type, nor for attempts that ran at that time',
    (event) => {
      expect(stepsButDestroying(subscribed, attemptFailed, event)).toEqual([])
      expect(stepsButDestroying(subscribed, attemptFailed, event, again)).toEqual([])
      expect(
        stepsButDestroying(subscribed, event, again, ofDelivery('WebhookDeliveryFailed', { statusCode: 410 })),
      ).toEqual([])
    },
  )

  it('is still watched when only its description changes', () => {
    expect(steps(subscribed, attemptFailed, redescribed)).toEqual([watch])
  })

  it('is watched for new failures only, once it is enabled again', () => {
    expect(steps(subscribed, disabled, enabled, attemptFailed)).toEqual([])
    const since = ofDelivery('WebhookDeliveryAttemptFailed', { endpoint: { revision: 2, reviewAt: at(216_032) } })
    expect(steps(subscribed, disabled, enabled, since)).toEqual([watch])
  })

  it('is checked next at the time in the last warning, if that is about the same failures', () => {
    expect(steps(subscribed, attemptFailed, ofSubscription('WebhookEndpointFailing'))).toEqual([
      free(ids.subscription, 'watch', 302_432),
    ])
    expect(steps(subscribed, attemptFailed, ofSubscription('WebhookEndpointFailing', { failingSince: at(1) }))).toEqual(
      [watch],
    )
    expect(steps(subscribed, ofSubscription('WebhookEndpointFailing'))).toEqual([])
  })

  it('is not watched for tests, nor for failures without an endpoint', () => {
    expect(steps(subscribed, completed, ofDelivery('WebhookDeliveryAttemptFailed', { endpoint: null }))).toEqual([
      deliver(37),
    ])
    expect(steps(subscribed, ofDelivery('WebhookDeliveryFailed', { endpoint: null, statusCode: 410 }))).toEqual([])
  })

  it('is disabled when it has answered 410', () => {
    expect(steps(subscribed, completed, ofDelivery('WebhookDeliveryFailed', { statusCode: 410 }))).toEqual([
      free(ids.subscription, 'disable', 32),
      watch,
    ])
    expect(steps(subscribed, ofDelivery('WebhookDeliveryFailed', { statusCode: 410 }), disabled)).toEqual([])
  })
})
