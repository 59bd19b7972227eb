import { describe, expect, test } from 'vitest'
import { checkApi } from '../../../tools/torture/checks/api.ts'
import { checkWebhooks, deliveriesWithoutOutcome, type ReceivedLine } from '../../../tools/torture/checks/webhooks.ts'
import { streamOf, exampleLog, type ExampleEvent } from '../../../tools/torture/example-log.ts'

const ofSubscriptions = (type: string, data: object = {}): ExampleEvent => [
  'webhook_subscriptions-o',
  type,
  { subscriptionId: 's1', ...data },
]
const both = ['assessment.completed', 'assessment.failed']
const subscribed = ofSubscriptions('WebhookSubscribed', {
  url: 'http://127.0.0.1:1/hook',
  eventTypes: ['assessment.completed'],
})
const moved = ofSubscriptions('WebhookSubscriptionChanged', { url: 'http://127.0.0.1:1/moved', eventTypes: both })
const disabled = ofSubscriptions('WebhookSubscriptionDisabled')
const enabled = ofSubscriptions('WebhookSubscriptionEnabled')
const deleted = ofSubscriptions('WebhookSubscriptionDeleted')
const completed = (assessmentId: string): ExampleEvent => [
  streamOf('assessment', assessmentId),
  'AssessmentCompleted',
  { assessmentId },
]
const failed = (assessmentId: string): ExampleEvent => [
  streamOf('assessment', assessmentId),
  'AssessmentFailed',
  { assessmentId },
]
/** An event of the delivery of `event-<cause>`. */
const ofDelivery = (type: string, cause = 1, data: object = {}): ExampleEvent => [
  streamOf('webhook_delivery', 'w1'),
  type,
  { deliveryId: 'w1', subscriptionId: 's1', eventId: `event-${cause}`, ...data },
]

const line = (
  id: string,
  assessmentId = 'a1',
  status = 204,
  path = '/hook',
  type = 'assessment.completed',
): ReceivedLine => ({
  path,
  id,
  assessmentId,
  type,
  status,
})
const said = (log: readonly ExampleEvent[], received: readonly ReceivedLine[]) =>
  checkWebhooks(exampleLog(...log), received).findings.map(({ what }) => what)
const due = (...log: readonly ExampleEvent[]) => checkWebhooks(exampleLog(...log), []).examined

describe('webhooks', () => {
  const log = [completed('early'), subscribed, completed('a1'), failed('a2')]

  test('are accepted when they arrive at least once under one id', () => {
    expect(checkWebhooks(exampleLog(...log), [line('w1', 'a1', 503), line('w1'), line('w1')])).toMatchObject({
      examined: 1,
      findings: [],
    })
    expect(deliveriesWithoutOutcome(exampleLog(...log))).toBe(1)
    expect(deliveriesWithoutOutcome(exampleLog(...log, ofDelivery('WebhookDelivered', 2)))).toBe(0)
  })

  test.each<readonly [string, readonly ReceivedLine[], string]>([
    ['never came', [], 'a webhook that never arrived'],
    ['were refused and not sent again', [line('w1', 'a1', 503)], 'a webhook that was refused and not sent again'],
    ['came under two ids', [line('w1'), line('w2')], 'a webhook under 2 ids: w1, w2'],
    ['came without a request', [line('w1'), line('w2', 'a2')], 'a webhook that no subscription requested'],
    [
      'came about an event before the subscription',
      [line('w1'), line('w2', 'early')],
      'a webhook that no subscription requested',
    ],
    [
      'came to an unknown address',
      [line('w1'), line('w2', 'a1', 204, '/other')],
      'a webhook that no subscription requested',
    ],
  ])('are found where they %s', (_, received, what) => expect(said(log, received)).toEqual([what]))

  test('of two events with one id are found', () => {
    expect(said([...log, completed('a3')], [line('w1'), line('w1', 'a3')])).toEqual([
      'one webhook id for two webhooks, the other s1 a1 assessment.completed',
    ])
  })

  test('are recorded as delivered at most as often as they were accepted', () => {
    const recorded = [subscribed, completed('a1'), ofDelivery('WebhookDelivered')]
    expect(said(recorded, [line('w1')])).toEqual([])
    const twice = [...recorded, ofDelivery('WebhookRedeliveryRequested'), ofDelivery('WebhookDelivered')]
    expect(said(twice, [line('w1'), line('w1')])).toEqual([])
    expect(said(twice, [line('w1'), line('w1', 'a1', 503)])).toEqual(['recorded as delivered, but not accepted'])
  })
})

describe('webhooks about the decision of a human review', () => {
  const naming = ofSubscriptions('WebhookSubscribed', {
    url: 'http://127.0.0.1:1/hook',
    eventTypes: ['assessment.completed', 'assessment.reviewed'],
  })
  const decided: ExampleEvent = [streamOf('assessment', 'a1'), 'AssessmentHumanReviewDecided', { assessmentId: 'a1' }]
  const reviewed = (id: string) => line(id, 'a1', 204, '/hook', 'assessment.reviewed')

  test('have an id of their own, and go to the subscriptions that name them', () => {
    const log = [naming, completed('a1'), decided]
    expect(said(log, [line('w1'), reviewed('w2')])).toEqual([])
    expect(said(log, [line('w1')])).toEqual(['a webhook that never arrived'])
    expect(said(log, [line('w1'), reviewed('w2'), reviewed('w3')])).toEqual(['a webhook under 2 ids: w2, w3'])
    expect(said([subscribed, completed('a1'), decided], [line('w1'), reviewed('w2')])).toEqual([
      'a webhook that no subscription requested',
    ])
  })
})

describe('webhooks of a subscription with a new address', () => {
  const log = [subscribed, completed('a1'), moved, completed('a2'), failed('a3')]

  test('may arrive at either address if it changed after the event, for the event types of that time', () => {
    expect(due(...log)).toBe(3)
    for (const path of ['/hook', '/moved']) {
      expect(
        said(log, [
          line('w1', 'a1', 204, path),
          line('w2', 'a2', 204, '/moved'),
          line('w3', 'a3', 204, '/moved', 'assessment.failed'),
        ]),
      ).toEqual([])
    }
    expect(due(subscribed, failed('a1'), moved)).toBe(0)
  })

  test('are found at the address that was replaced before the event, and under another id there', () => {
    expect(said(log.slice(0, -1), [line('w1'), line('w2', 'a2')])).toEqual(['a webhook to a replaced address'])
    expect(said(log.slice(0, 3), [line('w1'), line('w2', 'a1', 204, '/moved')])).toEqual([
      'a webhook under 2 ids: w1, w2',
    ])
  })
})

describe('webhooks of a disabled or deleted subscription', () => {
  const letGo = [
    ['disabled', disabled],
    ['deleted', deleted],
  ] as const

  test.each(letGo)('may be cancelled or delivered if it was %s after the event', (_, event) => {
    const log = [subscribed, completed('a1'), event, ofDelivery('WebhookDeliveryCancelled')]
    expect(said(log, [])).toEqual([])
    expect(said(log, [line('w1')])).toEqual([])
    expect(said(log, [line('w1', 'a1', 503)])).toEqual([])
    expect(said([...log, ofDelivery('WebhookDelivered')], [])).toEqual(['recorded as delivered, but not accepted'])
    expect(deliveriesWithoutOutcome(exampleLog(...log.slice(0, 3)))).toBe(1)
    expect(deliveriesWithoutOutcome(exampleLog(...log))).toBe(0)
  })

  test.each(letGo)('are not due while it is %s', (_, event) => {
    expect(due(subscribed, event, completed('a1'))).toBe(0)
    expect(said([subscribed, event, completed('a1')], [line('w1')])).toEqual([
      'a webhook that no subscription requested',
    ])
  })

  test('are due again once it is enabled', () => {
    expect(due(subscribed, disabled, enabled, completed('a1'))).toBe(1)
    expect(said([subscribed, disabled, enabled, completed('a1')], [])).toEqual(['a webhook that never arrived'])
    expect(said([subscribed, completed('a1'), disabled, enabled], [])).toEqual([])
  })

  test('are found if they were cancelled while it was active', () => {
    expect(said([subscribed, completed('a1'), ofDelivery('WebhookDeliveryCancelled'), disabled], [line('w1')])).toEqual(
      ['cancelled, but its subscription was active'],
    )
    expect(said([subscribed, completed('a1'), ofDelivery('WebhookDeliveryCancelled')], [])).toEqual([
      'a webhook that never arrived',
      'cancelled, but its subscription was active',
    ])
  })
})

describe('webhooks that are requested again', () => {
  const log = [subscribed, completed('a1'), ofDelivery('WebhookDelivered'), ofDelivery('WebhookRedeliveryRequested')]

  test('are found if they fail or are cancelled while the subscription is active', () => {
    expect(said([...log, ofDelivery('WebhookDeliveryFailed')], [line('w1')])).toEqual([
      'requested again, but not accepted',
    ])
    expect(said([...log, ofDelivery('WebhookDeliveryCancelled')], [line('w1')])).toEqual([
      'cancelled, but its subscription was active',
    ])
    expect(said([...log, deleted, ofDelivery('WebhookDeliveryCancelled')], [line('w1')])).toEqual([])
    expect(
      said(
        [...log.slice(0, 3), disabled, enabled, ...log.slice(3), ofDelivery('WebhookDeliveryCancelled')],
        [line('w1')],
      ),
    ).toEqual(['cancelled, but its subscription was active'])
  })
})

describe('webhooks that are requested between a re-enabling and the cancellation by the earlier disabling', () => {
  const asked = (endpointRevision: number) => ofDelivery('WebhookRedeliveryUnneeded', 1, { endpointRevision })
  const cancelled = ofDelivery('WebhookDeliveryCancelled')
  const again = ofDelivery('WebhookRedeliveryRequested', 1, { request: null })
  const log = [subscribed, completed('a1'), disabled, enabled]

  test('are found if the cancellation ends them', () => {
    expect(said([...log, asked(2), cancelled], [])).toEqual(['requested again, but cancelled'])
    expect(said([...log, asked(2), cancelled, again, ofDelivery('WebhookDelivered')], [line('w1')])).toEqual([])
    expect(said([...log, asked(2), cancelled, again, ofDelivery('WebhookDeliveryFailed')], [])).toEqual([
      'requested again, but not accepted',
    ])
  })

  test('may end if the request came before the disabling, or if a later event disabled or deleted it', () => {
    expect(said([...log, asked(0), cancelled], [])).toEqual([])
    expect(said([subscribed, completed('a1'), asked(0), disabled, enabled, cancelled], [])).toEqual([])
    for (const event of [disabled, deleted]) expect(said([...log, asked(2), event, cancelled], [])).toEqual([])
    expect(said([...log, ofDelivery('WebhookRedeliveryUnneeded'), cancelled], [])).toEqual([])
    expect(said([...log, cancelled, ofDelivery('WebhookDelivered'), asked(2)], [line('w1')])).toEqual([])
  })
})

test('subscriptions in the API are compared with the log', async () => {
  const path = '/v1/clinical-api/webhook-subscriptions/s1'
  const api = (status: number, body: object) => ({ call: async () => ({ status, headers: new Headers(), body }) })
  const record = { id: 's1', status: 'disabled', url: 'http://127.0.0.1:1/moved' }
  const log = exampleLog(subscribed, moved, disabled)
  expect(await checkApi(api(200, record), [], log)).toMatchObject({ examined: 1, findings: [] })
  const what = `answered 200 without s1 disabled ${record.url}`
  expect((await checkApi(api(200, { ...record, status: 'active' }), [], log)).findings).toEqual([{ what, where: path }])
  const gone = exampleLog(subscribed, deleted)
  expect((await checkApi(api(404, { code: 'not-found' }), [], gone)).findings).toEqual([])
  expect((await checkApi(api(200, record), [], gone)).findings).toEqual([
    { what: 'answered 200 without not-found', where: path },
  ])
})
