import { describe, expect, it } from 'vitest'
import { webhooksProcess } from '../../../processes/webhooks/webhooks.process.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { webhookDeliveries } from '../../../streams/webhook-delivery/aggregate.ts'
import { webhookRecoveries } from '../../../streams/webhook-recovery/aggregate.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { recorded, rowsAfter, type GivenEvent } from '../../support/given-projector.ts'
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

/** What is due in which concurrency key, and when; ordered by key and step. */
async function steps(...given: GivenEvent[]) {
  const { todo = [] } = await rowsAfter(webhooksProcess.list, recorded(given))
  return todo.map(({ key, step, org_id, lane, due_at }) => ({ key, step, org: org_id, lane, due: due_at }))
}

/** But for what becomes of the secrets of a deleted one. */
async function stepsButDestroying(...given: GivenEvent[]) {
  return (await steps(...given)).filter(({ step }) => step !== 'destroy-secrets')
}

async function payloads(...given: GivenEvent[]): Promise<unknown[]> {
  const { todo = [] } = await rowsAfter(webhooksProcess.list, recorded(given))
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
  it('is each subscription of its organisation that wants to know', async () => {
    const only = ofSubscription('WebhookSubscribed', { subscriptionId: ids.claim, eventTypes: ['assessment.failed'] })
    expect(await steps(subscribed, only, completed)).toEqual([deliver(30)])
    expect(await steps(subscribed, only, failed)).toEqual([deliver(30), deliver(30, ids.claim)])
  })

  it('is nobody without a subscription, of another organisation, or that subscribed later', async () => {
    expect(await steps(completed)).toEqual([])
    expect(await steps(ofSubscription('WebhookSubscribed', { organisationId: ids.otherOrg }), completed)).toEqual([])
    expect(await steps(completed, subscribed)).toEqual([])
  })

  it('is whoever is active, and wants the event, at its place in the log', async () => {
    expect(await steps(subscribed, disabled, completed)).toEqual([])
    expect(await steps(subscribed, disabled, enabled, completed)).toEqual([deliver(30)])
    expect(await stepsButDestroying(subscribed, deleted, completed)).toEqual([])
    expect(await steps(subscribed, redescribed, completed)).toEqual([])
    expect(await steps(subscribed, redescribed, failed)).toEqual([deliver(30)])
    expect(await steps(subscribed, completed, redescribed)).toEqual([deliver(30)])
  })

  it('is told which event of which assessment, and nothing of what was found', async () => {
    expect(await payloads(subscribed, completed)).toEqual([{ cause: cause(ids.event), ...told, occurredAt: at(30) }])
  })
})

describe('when a delivery is due again', () => {
  it('is after each failed attempt, at the instant that it names', async () => {
    expect(await steps(subscribed, completed, attemptFailed)).toContainEqual(deliver(37))
    expect(
      await steps(
        subscribed,
        completed,
        ofDelivery('WebhookDeliveryScheduled'),
        ofDelivery('WebhookDeliveryAttempted'),
      ),
    ).toEqual([deliver(30)])
  })

  it.each(['WebhookDelivered', 'WebhookDeliveryFailed', 'WebhookDeliveryCancelled'] as const)(
    'is never after %s',
    async (type) => {
      const end = ofDelivery(type, type === 'WebhookDeliveryFailed' ? { endpoint: null } : {})
      expect(await steps(subscribed, completed, end)).toEqual([])
      expect(await steps(subscribed, another, completed, end)).toEqual([deliver(30, ids.claim)])
    },
  )

  it('is at once when it is asked for, whatever it came to', async () => {
    const again = ofDelivery('WebhookRedeliveryRequested')
    expect(await steps(subscribed, completed, ofDelivery('WebhookDelivered'), again)).toEqual([deliver(60)])
    expect(await payloads(subscribed, again)).toEqual([{ cause: cause(), ...told, occurredAt: null }])
  })

  it('is at once for a test, which has a row of its own', async () => {
    const test = { origin: 'test', eventType: 'webhook.test', assessmentId: null } as const
    expect(await steps(subscribed, ofDelivery('WebhookDeliveryScheduled', test))).toEqual([deliver(31)])
    expect(await payloads(subscribed, ofDelivery('WebhookDeliveryScheduled', test))).toEqual([
      { cause: cause(), ...told, eventType: 'webhook.test', assessmentId: null, occurredAt: null },
    ])
  })
})

describe('a recovery', () => {
  const recovered: GivenEvent = {
    ...recoveryFact('WebhookRecoveryRequested'),
    stream: webhookRecoveries.of(ids.org, recovery).stream,
  }

  it('has each of its deliveries asked for again, once', async () => {
    expect(await steps(subscribed, recovered)).toEqual([free(key, 'redeliver', 61)])
    expect(await payloads(subscribed, recovered)).toEqual([
      { cause: cause(), subscriptionId: ids.subscription, deliveryId: ids.delivery, recoveryId: recovery },
    ])
    expect(await steps(subscribed, recovered, ofDelivery('WebhookRedeliveryRequested'))).toEqual([deliver(60)])
    expect(await steps(subscribed, recovered, recovered)).toEqual([free(key, 'redeliver', 61)])
  })

  it.each([ofDelivery('WebhookDelivered'), ofDelivery('WebhookRedeliveryUnneeded'), disabled, deleted])(
    'is over for one with $type',
    async (event) => {
      expect(await stepsButDestroying(subscribed, recovered, event)).toEqual([])
    },
  )

  it('is over where it finds that there is nothing to do, and takes nothing away that is under way', async () => {
    expect(await steps(subscribed, completed, recovered, ofDelivery('WebhookRedeliveryUnneeded'))).toEqual([
      deliver(30),
    ])
  })

  it.each([disabled, deleted])('has nothing asked for again after $type, which would stand for ever', async (event) => {
    expect(await stepsButDestroying(subscribed, event, recovered)).toEqual([])
  })
})

describe('a subscription that is disabled or deleted', () => {
  it.each([
    { event: disabled, reason: 'subscription_disabled', seconds: 20 },
    { event: deleted, reason: 'subscription_deleted', seconds: 50 },
  ])('has what is pending cancelled: $event.type', async ({ event, reason, seconds }) => {
    expect(await stepsButDestroying(subscribed, another, completed, event)).toEqual([
      free(key, 'cancel', seconds),
      deliver(30, ids.claim),
    ])
    const payload = (await payloads(subscribed, another, completed, event)).find((one) =>
      Object.hasOwn(Object(one), 'reason'),
    )
    expect(payload).toEqual({
      cause: cause(),
      reason,
      delivery: { cause: cause(ids.event), ...told, occurredAt: at(30) },
    })
  })

  it('has it cancelled also when it is enabled again at once', async () => {
    expect(await steps(subscribed, completed, disabled, enabled)).toEqual([free(key, 'cancel', 20)])
    expect(await stepsButDestroying(subscribed, completed, disabled, deleted)).toEqual([free(key, 'cancel', 20)])
  })

  it('has it cancelled and due again where it was asked for in between', async () => {
    const asked = [
      subscribed,
      completed,
      disabled,
      enabled,
      ofDelivery('WebhookRedeliveryUnneeded', { endpointRevision: 3 }),
    ]
    expect(await steps(...asked)).toEqual([free(key, 'cancel', 20)])
    const again = ofDelivery('WebhookRedeliveryRequested', { endpointRevision: 3, request: null })
    expect(await steps(...asked, ofDelivery('WebhookDeliveryCancelled'), again)).toEqual([deliver(60)])
  })

  it.each(['WebhookDeliveryCancelled', 'WebhookDelivered'] as const)(
    'has nothing left to cancel after %s',
    async (type) => {
      expect(await steps(subscribed, completed, disabled, ofDelivery(type))).toEqual([])
    },
  )

  it('may be told of an attempt that failed meanwhile, which makes nothing due', async () => {
    await expect(steps(subscribed, completed, disabled, attemptFailed)).resolves.toEqual([free(key, 'cancel', 20)])
    await expect(stepsButDestroying(subscribed, completed, deleted, attemptFailed)).resolves.toEqual([
      free(key, 'cancel', 50),
    ])
    const afterwards = ofDelivery('WebhookDeliveryAttemptFailed', { nextAttemptAt: null })
    expect(await steps(subscribed, completed, disabled, ofDelivery('WebhookDeliveryCancelled'), afterwards)).toEqual([])
  })

  it('has its secrets destroyed an hour after it was deleted, once', async () => {
    expect(await steps(subscribed, deleted)).toEqual([free(ids.subscription, 'destroy-secrets', 3_650)])
    expect(await payloads(subscribed, deleted)).toEqual([{ cause: cause() }])
    expect(await steps(subscribed, disabled)).toEqual([])
    expect(await steps(subscribed, deleted, ofSubscription('WebhookSecretsDestroyed'))).toEqual([])
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

  it('is looked at when half of its time has passed since the first failure', async () => {
    expect(await steps(subscribed, completed, attemptFailed)).toEqual([watch, deliver(37)])
    expect(await steps(subscribed, completed, attemptFailed, again)).toEqual([watch, deliver(340)])
    expect(await steps(subscribed, completed, ofDelivery('WebhookDeliveryFailed'))).toEqual([watch])
    expect(await payloads(subscribed, attemptFailed)).toEqual([
      { cause: cause(), endpointRevision: 0, failingSince: at(32) },
    ])
  })

  it('is watched no more after a success, and anew after the next failure', async () => {
    expect(await steps(subscribed, completed, attemptFailed, delivered)).toEqual([])
    expect(await steps(subscribed, completed, attemptFailed, delivered, again)).toEqual([
      free(ids.subscription, 'watch', 216_040),
    ])
  })

  it.each([moved, disabled, deleted])(
    'is watched no more after $type, and does not answer for what was under way then',
    async (event) => {
      expect(await stepsButDestroying(subscribed, attemptFailed, event)).toEqual([])
      expect(await stepsButDestroying(subscribed, attemptFailed, event, again)).toEqual([])
      expect(
        await stepsButDestroying(subscribed, event, again, ofDelivery('WebhookDeliveryFailed', { statusCode: 410 })),
      ).toEqual([])
    },
  )

  it('is watched all the same when only its description changes', async () => {
    expect(await steps(subscribed, attemptFailed, redescribed)).toEqual([watch])
  })

  it('is another one once it is enabled again', async () => {
    expect(await steps(subscribed, disabled, enabled, attemptFailed)).toEqual([])
    const since = ofDelivery('WebhookDeliveryAttemptFailed', { endpoint: { revision: 2, reviewAt: at(216_032) } })
    expect(await steps(subscribed, disabled, enabled, since)).toEqual([watch])
  })

  it('is looked at next when the last warning says, if that is of this row of failures', async () => {
    expect(await steps(subscribed, attemptFailed, ofSubscription('WebhookEndpointFailing'))).toEqual([
      free(ids.subscription, 'watch', 302_432),
    ])
    expect(
      await steps(subscribed, attemptFailed, ofSubscription('WebhookEndpointFailing', { failingSince: at(1) })),
    ).toEqual([watch])
    expect(await steps(subscribed, ofSubscription('WebhookEndpointFailing'))).toEqual([])
  })

  it('is not failing for a test, nor for what was recorded before endpoints were counted', async () => {
    expect(await steps(subscribed, completed, ofDelivery('WebhookDeliveryAttemptFailed', { endpoint: null }))).toEqual([
      deliver(37),
    ])
    expect(await steps(subscribed, ofDelivery('WebhookDeliveryFailed', { endpoint: null, statusCode: 410 }))).toEqual(
      [],
    )
  })

  it('is to be disabled when it has answered 410', async () => {
    expect(await steps(subscribed, completed, ofDelivery('WebhookDeliveryFailed', { statusCode: 410 }))).toEqual([
      free(ids.subscription, 'disable', 32),
      watch,
    ])
    expect(await steps(subscribed, ofDelivery('WebhookDeliveryFailed', { statusCode: 410 }), disabled)).toEqual([])
  })
})
