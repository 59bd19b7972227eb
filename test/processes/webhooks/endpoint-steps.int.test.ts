import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { webhookChannelStream } from '../../../streams/channels/webhook.ts'
import type { WebhookDeliveryEvent } from '../../../streams/webhook-delivery/events.ts'
import { deliveryIdOf, webhookDeliveries } from '../../../streams/webhook-delivery/aggregate.ts'
import type { WebhookSubscriptionEvent } from '../../../streams/webhook-subscriptions/events.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { subscriptionFact } from '../../streams/webhook-facts.ts'
import { givenTimeline } from '../timeline/given-timeline.ts'
import { endAssessment, subscribe, type Subscribed } from './webhook-steps.ts'

const daySeconds = 86_400
const given = givenTimeline()
let failing: WebhookReceiver
let status: number
let subscription: Subscribed

beforeAll(async () => {
  failing = await startWebhookReceiver(() => status)
})
afterAll(() => failing.close())
beforeEach(async () => {
  status = 500
  await given.open()
  subscription = await subscribe(given.world, { url: `${failing.url}/${randomUUID()}` })
})

/** The events of the subscription, with the days since an instant. */
async function story(since: Date): Promise<readonly (readonly [event: string, days: number])[]> {
  const reports: [string, number][] = []
  const daysTo = (at: string) => Math.round((Date.parse(at) - since.getTime()) / 8_640_000) / 10
  for await (const event of given.world.store.readStream(webhookSubscriptions.of(given.world.orgId).stream)) {
    const { type, data } = event as WebhookSubscriptionEvent
    if (data.subscriptionId !== subscription.subscriptionId) continue
    if (type === 'WebhookEndpointFailing') reports.push([`failing ${data.percent}`, daysTo(data.warnedAt)])
    if (type === 'WebhookSubscriptionDisabled') reports.push([`disabled ${data.reason}`, daysTo(data.disabledAt)])
  }
  return reports
}

async function published(): Promise<unknown[]> {
  const events: unknown[] = []
  for await (const { type, data } of given.world.store.readStream(webhookChannelStream.name)) {
    if (JSON.stringify(data).includes(subscription.subscriptionId)) events.push({ type, data })
  }
  return events
}

async function deliveryOf(eventId: string): Promise<string[]> {
  const types: string[] = []
  const stream = webhookDeliveries.of(given.world.orgId, deliveryIdOf(subscription.subscriptionId, eventId)).stream
  for await (const { type } of given.world.store.readStream<WebhookDeliveryEvent>(stream)) types.push(type)
  return types
}

describe('an endpoint that accepts nothing', () => {
  it('causes warnings after 50, 70 and 90 % of five days, and is disabled at their end', async () => {
    const since = given.world.now()
    const eventId = await endAssessment(given.world)
    await given.timeline.runFor(6 * daySeconds)
    expect(await story(since)).toEqual([
      ['failing 50', 2.5],
      ['failing 70', 3.5],
      ['failing 90', 4.5],
      ['disabled no_success', 5],
    ])
    expect((await deliveryOf(eventId)).at(-1)).toBe('WebhookDeliveryFailed')
    const named = { subscription_id: subscription.subscriptionId, org_id: given.world.orgId }
    const failingSince = since.toISOString()
    expect(await published()).toMatchObject([
      ...[50, 70, 90].map((percent) => ({
        type: 'webhook.endpoint.failing',
        data: { ...named, percent, failing_since: failingSince },
      })),
      { type: 'webhook.endpoint.disabled', data: { ...named, reason: 'no_success' } },
    ])
    expect(JSON.stringify(await published())).not.toContain(failing.url)
  })

  it('causes no warnings once it accepts a delivery, and new ones when it fails again', async () => {
    const since = given.world.now()
    await endAssessment(given.world)
    await given.timeline.runFor(3 * daySeconds)
    status = 204
    await given.timeline.runFor(3 * daySeconds)
    expect(await story(since)).toEqual([['failing 50', 2.5]])
    status = 500
    await endAssessment(given.world)
    await given.timeline.runFor(3 * daySeconds)
    expect(await story(since)).toEqual([
      ['failing 50', 2.5],
      ['failing 50', 8.5],
    ])
    expect(await subscription.current()).toMatchObject({ status: 'active' })
  })

  it('causes no warnings for an address that it no longer has', async () => {
    const since = given.world.now()
    await endAssessment(given.world)
    await given.timeline.runFor(daySeconds)
    status = 204
    const { subscriptionId } = subscription
    await subscription.append(
      subscriptionFact('WebhookSubscriptionChanged', {
        subscriptionId,
        url: failing.url,
        changedAt: given.world.now().toISOString(),
      }),
    )
    await given.timeline.runFor(6 * daySeconds)
    expect(await story(since)).toEqual([])
  })

  it('has its full time, also if no worker ran for long', async () => {
    const since = given.world.now()
    await endAssessment(given.world)
    await given.timeline.runFor(daySeconds)
    await given.timeline.close()
    given.world.pass(3 * daySeconds)
    await given.open()
    await given.timeline.runFor(3 * daySeconds)
    expect(await story(since)).toEqual([
      ['failing 50', 4],
      ['failing 70', 5],
      ['failing 90', 6],
      ['disabled no_success', 6.5],
    ])
  })
})

describe('an endpoint that answers 410', () => {
  it('is disabled at once, and its other pending deliveries are cancelled', async () => {
    const since = given.world.now()
    const pending = await endAssessment(given.world)
    await given.timeline.runUntilIdle()
    status = 410
    const last = await endAssessment(given.world)
    await given.timeline.runUntilIdle()
    expect(await story(since)).toEqual([['disabled gone', 0]])
    expect((await deliveryOf(last)).at(-1)).toBe('WebhookDeliveryFailed')
    expect((await deliveryOf(pending)).at(-1)).toBe('WebhookDeliveryCancelled')
    await endAssessment(given.world)
    const { length } = failing.received
    await given.timeline.runFor(daySeconds)
    expect(failing.received).toHaveLength(length)
  })
})
