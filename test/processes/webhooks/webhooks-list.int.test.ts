import { describe, expect, it } from 'vitest'
import { webhooksProcess } from '../../../processes/webhooks/webhooks.effects.ts'
import { assessmentStream } from '../../../streams/assessment/stream.ts'
import { todosAfter } from '../../support/given-process.ts'
import { recorded, type GivenEvent } from '../../support/given-projector.ts'
import { assessmentFact, at, ids } from '../../streams/facts.ts'
import { deliveryFact, subscriptionFact } from '../../streams/webhook-facts.ts'

const completed: GivenEvent = { ...assessmentFact('AssessmentCompleted'), stream: assessmentStream(ids.org, ids.assessment), id: ids.event }
const failed: GivenEvent = { ...assessmentFact('AssessmentFailed'), stream: assessmentStream(ids.org, ids.assessment), id: ids.event }
const subscribed = subscriptionFact('WebhookSubscribed')
const another = (changes: Partial<typeof subscribed.data>) => subscriptionFact('WebhookSubscribed', { subscriptionId: ids.claim, ...changes })
const delivery = (event: GivenEvent): GivenEvent => ({ ...event, stream: 'webhook_delivery-1' })

async function steps(...given: GivenEvent[]) {
  return (await todosAfter(webhooksProcess, recorded(given))).map(({ key, step, orgId, dueAt }) => ({ key, step, orgId, due: dueAt.toISOString() }))
}

const todo = (subscriptionId: string, due: string) => ({ key: `${subscriptionId}.${ids.event}`, step: 'deliver', orgId: ids.org, due })

describe('who is told of the end of an assessment', () => {
  it('is each subscription of its organisation that wants to know', async () => {
    const only = another({ eventTypes: ['assessment.failed'] })
    expect(await steps(subscribed, only, completed)).toEqual([todo(ids.subscription, at(30))])
    expect(await steps(subscribed, only, failed)).toEqual([todo(ids.subscription, at(30)), todo(ids.claim, at(30))])
  })

  it('is nobody without a subscription, of another organisation, or that subscribed later', async () => {
    expect(await steps(completed)).toEqual([])
    expect(await steps(another({ organisationId: ids.otherOrg }), completed)).toEqual([])
    expect(await steps(completed, subscribed)).toEqual([])
  })

  it('is told which event of which assessment, and nothing of what was found', async () => {
    const [first] = await todosAfter(webhooksProcess, recorded([subscribed, completed]))
    expect(first?.payload).toEqual({
      cause: { eventId: ids.event, correlationId: expect.any(String) },
      subscriptionId: ids.subscription,
      eventId: ids.event,
      eventType: 'assessment.completed',
      assessmentId: ids.assessment,
    })
  })
})

describe('when a delivery is due again', () => {
  it('is after each failed attempt, at the instant that it names', async () => {
    const attemptFailed = delivery(deliveryFact('WebhookDeliveryAttemptFailed'))
    expect(await steps(subscribed, completed, attemptFailed)).toEqual([todo(ids.subscription, at(37))])
    expect(await steps(subscribed, completed, delivery(deliveryFact('WebhookDeliveryScheduled')), delivery(deliveryFact('WebhookDeliveryAttempted')))).toEqual([todo(ids.subscription, at(30))])
  })

  it.each([deliveryFact('WebhookDelivered'), deliveryFact('WebhookDeliveryFailed')])('is never after $type', async (end) => {
    expect(await steps(subscribed, completed, delivery(end))).toEqual([])
    expect(await steps(subscribed, another({}), completed, delivery(end))).toEqual([todo(ids.claim, at(30))])
  })
})
