import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { at as memberOf } from '../../../app/demo/members.ts'
import { startOfLog } from '../../../platform/kit/positions.ts'
import { deliveryIdOf, webhookDeliveries } from '../../../streams/webhook-delivery/aggregate.ts'
import { webhookSubscriptions } from '../../../streams/webhook-subscriptions/aggregate.ts'
import { webhookRecoveries } from '../../../streams/webhook-recovery/aggregate.ts'
import { assessmentFact, at, ids } from '../../streams/facts.ts'
import { deliveryFact, subscriptionFact } from '../../streams/webhook-facts.ts'
import { openWebhookApi, type WebhookAnswer, type WebhookApi } from './webhook-api.ts'
import { tenantOfFact } from '../../../platform/kit/tenants.ts'

let api: WebhookApi
/** Each test has a subscription of its own. */
let subscriptionId: string

beforeAll(async () => {
  api = await openWebhookApi()
})
afterAll(() => api.close())
beforeEach(async () => {
  subscriptionId = randomUUID()
  await api.record(
    subscriptionFact('WebhookSubscribed', {
      subscriptionId,
      organisationId: api.world.orgId,
      secretId: subscriptionId,
      publicKey: null,
    }),
  )
})

const longAgo = '2026-01-01T00:00:00Z'
const pathOf = (rest = '', id = subscriptionId) => `/${id}${rest}`
const codeOf = ({ status, body }: WebhookAnswer) => [status, memberOf(body, 'code')]
const disabled = () => subscriptionFact('WebhookSubscriptionDisabled', { subscriptionId })
const enabled = () => subscriptionFact('WebhookSubscriptionEnabled', { subscriptionId })

interface Recorded {
  readonly id: string
  readonly eventId: string
}

/** Records a delivery of an event at this second, and its outcome. */
async function recordDelivery(
  occurred: number,
  end?: 'delivered' | 'failed' | 'cancelled',
  origin: 'event' | 'test' = 'event',
): Promise<Recorded> {
  const eventId = randomUUID()
  const id = deliveryIdOf(subscriptionId, eventId)
  const named = { deliveryId: id, subscriptionId, eventId }
  const instants = { occurredAt: at(occurred), scheduledAt: at(occurred) }
  const scheduled = deliveryFact('WebhookDeliveryScheduled', {
    ...named,
    organisationId: api.world.orgId,
    origin,
    ...instants,
  })
  const attempted = deliveryFact('WebhookDeliveryAttempted', { deliveryId: id })
  const ends = {
    delivered: [attempted, deliveryFact('WebhookDelivered', named)],
    failed: [attempted, deliveryFact('WebhookDeliveryFailed', { ...named, attempt: 1 })],
    cancelled: [deliveryFact('WebhookDeliveryCancelled', named)],
  }
  await api.record(
    scheduled,
    ...(end === undefined ? [attempted, deliveryFact('WebhookDeliveryAttemptFailed', named)] : ends[end]),
  )
  return { id, eventId }
}

const idsOf = ({ body }: WebhookAnswer): unknown[] =>
  (memberOf(body, 'data') as unknown[]).map((one) => memberOf(one, 'id'))

describe('the log of deliveries', () => {
  it('shows the newest 100 attempts of a delivery that was sent again many times, in every answer', async () => {
    const { id, eventId } = await recordDelivery(1)
    const named = { deliveryId: id, subscriptionId, eventId }
    const failed = (attempt: number) => [
      deliveryFact('WebhookDeliveryAttempted', { deliveryId: id, attempt, attemptedAt: at(attempt) }),
      deliveryFact('WebhookDeliveryAttemptFailed', { ...named, attempt }),
    ]
    await api.record(...Array.from({ length: 101 }, (_, index) => failed(index + 2)).flat())
    // The outcome of the next one is not known.
    await api.record(deliveryFact('WebhookDeliveryAttempted', { deliveryId: id, attempt: 103, attemptedAt: at(103) }))
    const newest = Array.from({ length: 100 }, (_, index) => at(index + 3))
    const shownBy = (record: unknown) => (memberOf(record, 'attempts') as unknown[]).map((one) => memberOf(one, 'at'))
    const path = pathOf(`/deliveries/${id}`)
    const list = await api.get(pathOf('/deliveries'))
    const again = await api.post(`${path}/redeliver`)
    for (const record of [(await api.get(path)).body, memberOf(list.body, 'data', 0), again.body])
      expect(shownBy(record)).toEqual(newest)
  })

  it('shows the outcome of each, newest first', async () => {
    const pending = await recordDelivery(1)
    const delivered = await recordDelivery(2, 'delivered')
    const failed = await recordDelivery(3, 'failed')
    const cancelled = await recordDelivery(4, 'cancelled')
    const answer = await api.get(pathOf('/deliveries'))
    const base = { event_type: 'assessment.completed', assessment_id: ids.assessment, next_attempt_at: null }
    const attempt = { at: at(31), status_code: null, duration_ms: 120, error_class: null }
    expect(answer.body).toEqual({
      data: [
        { ...base, id: cancelled.id, status: 'cancelled', created_at: at(4), attempts: [] },
        {
          ...base,
          id: failed.id,
          status: 'failed',
          created_at: at(3),
          attempts: [{ ...attempt, error_class: 'timeout' }],
        },
        {
          ...base,
          id: delivered.id,
          status: 'delivered',
          created_at: at(2),
          attempts: [{ ...attempt, status_code: 204 }],
        },
        {
          ...base,
          id: pending.id,
          status: 'pending',
          created_at: at(1),
          next_attempt_at: at(37),
          attempts: [{ ...attempt, status_code: 500, error_class: 'http_status' }],
        },
      ],
      next_cursor: null,
      has_more: false,
    })
    const one = await api.get(pathOf(`/deliveries/${failed.id.toUpperCase()}`))
    expect([one.status, one.headers['etag'], one.body]).toEqual([
      200,
      '"2"',
      (memberOf(answer.body, 'data') as unknown[])[1],
    ])
  })

  it('filters by status or type, page by page', async () => {
    const failed = await Promise.all([1, 2, 3].map((second) => recordDelivery(second, 'failed')))
    await recordDelivery(4, 'delivered')
    const newestFirst = failed.map(({ id }) => id).toReversed()
    expect(idsOf(await api.get(pathOf('/deliveries?status=failed')))).toEqual(newestFirst)
    expect(idsOf(await api.get(pathOf('/deliveries?status=failed&event_type=webhook.test')))).toEqual([])
    const first = await api.get(pathOf('/deliveries?status=failed&limit=2'))
    expect(idsOf(first)).toEqual(newestFirst.slice(0, 2))
    const cursor = String(memberOf(first.body, 'next_cursor'))
    expect(idsOf(await api.get(pathOf(`/deliveries?status=failed&limit=2&cursor=${cursor}`)))).toEqual(
      newestFirst.slice(2),
    )
    expect(codeOf(await api.get(pathOf(`/deliveries?status=delivered&cursor=${cursor}`)))).toEqual([
      400,
      'invalid-cursor',
    ])
    expect(codeOf(await api.get(pathOf('/deliveries?status=done')))).toEqual([400, 'validation-failed'])
  })

  it('contains one subscription of one organisation', async () => {
    const { id } = await recordDelivery(1, 'failed')
    const other = randomUUID()
    await api.record(
      subscriptionFact('WebhookSubscribed', {
        subscriptionId: other,
        organisationId: api.world.orgId,
        url: `https://receiver.example/${other}`,
      }),
    )
    expect(idsOf(await api.get(pathOf('/deliveries', other)))).toEqual([])
    const asked = [
      api.get(pathOf(`/deliveries/${id}`, other)),
      api.get(pathOf(`/deliveries/${randomUUID()}`)),
      api.get(pathOf('/deliveries', randomUUID())),
      api.get(pathOf('/deliveries'), randomUUID()),
      api.get(pathOf(`/deliveries/${id}`), randomUUID()),
      api.post(pathOf(`/deliveries/${id}/redeliver`, other)),
      api.post(pathOf(`/deliveries/${id}/redeliver`), { orgId: tenantOfFact(randomUUID()) }),
      api.post(pathOf('/test'), { orgId: tenantOfFact(randomUUID()) }),
      api.post(pathOf('/recover'), { orgId: tenantOfFact(randomUUID()), body: { since: longAgo } }),
    ]
    for (const answer of await Promise.all(asked)) expect(codeOf(answer)).toEqual([404, 'not-found'])
  })
})

describe('a delivery that no process has attempted', () => {
  /** Ends a new assessment. Resolves to its delivery to the subscription of this test. */
  async function endAssessment(): Promise<{ readonly id: string; readonly assessmentId: string }> {
    const assessmentId = randomUUID()
    const [eventId = ''] = await api.record(assessmentFact('AssessmentFailed', { assessmentId, failedAt: at(40) }))
    return { id: deliveryIdOf(subscriptionId, eventId), assessmentId }
  }

  it('is pending from its event on, with the instant of its next attempt', async () => {
    const { id, assessmentId } = await endAssessment()
    const record = {
      id,
      event_type: 'assessment.failed',
      assessment_id: assessmentId,
      status: 'pending',
      attempts: [],
      next_attempt_at: at(40),
      created_at: at(40),
    }
    expect(memberOf((await api.get(pathOf('/deliveries?status=pending'))).body, 'data')).toEqual([record])
    const one = await api.get(pathOf(`/deliveries/${id}`))
    expect([one.status, one.headers['etag'], one.body]).toEqual([200, '"0"', record])
    expect(codeOf(await api.get(pathOf(`/deliveries/${id}`), randomUUID()))).toEqual([404, 'not-found'])
  })

  it('does not exist for a subscription that is disabled or does not name the event', async () => {
    await api.record(
      subscriptionFact('WebhookSubscriptionChanged', { subscriptionId, eventTypes: ['assessment.completed'] }),
    )
    await endAssessment()
    await api.record(subscriptionFact('WebhookSubscriptionChanged', { subscriptionId }), disabled())
    await endAssessment()
    expect(idsOf(await api.get(pathOf('/deliveries')))).toEqual([])
  })

  it('exists for the decision of a human review if the subscription names it, and is sent again like any other', async () => {
    const assessmentId = randomUUID()
    const decided = () => api.record(assessmentFact('AssessmentHumanReviewDecided', { assessmentId }))
    await decided()
    await api.record(
      subscriptionFact('WebhookSubscriptionChanged', { subscriptionId, eventTypes: ['assessment.reviewed'] }),
    )
    const [eventId = ''] = await decided()
    await endAssessment()
    const id = deliveryIdOf(subscriptionId, eventId)
    const answer = await api.get(pathOf('/deliveries'))
    expect(memberOf(answer.body, 'data')).toEqual([
      {
        id,
        event_type: 'assessment.reviewed',
        assessment_id: assessmentId,
        status: 'pending',
        attempts: [],
        next_attempt_at: at(90),
        created_at: at(90),
      },
    ])
    expect((await api.get(pathOf('/deliveries?event_type=assessment.reviewed'))).body).toEqual(answer.body)
    expect(idsOf(await api.get(pathOf('/deliveries?event_type=assessment.completed')))).toEqual([])

    const named = { deliveryId: id, subscriptionId, eventId, eventType: 'assessment.reviewed' as const }
    const organisationId = api.world.orgId
    await api.record(
      deliveryFact('WebhookDeliveryScheduled', { ...named, assessmentId, organisationId, occurredAt: at(90) }),
      deliveryFact('WebhookDeliveryAttempted', { deliveryId: id }),
      deliveryFact('WebhookDeliveryFailed', { deliveryId: id, subscriptionId, eventId, attempt: 1 }),
    )
    const recovered = await api.post(pathOf('/recover'), { body: { since: at(90), until: at(91) } })
    expect([recovered.status, recovered.body]).toEqual([202, { deliveries: 1, has_more: false }])
    const again = await api.post(pathOf(`/deliveries/${id}/redeliver`))
    expect([again.status, memberOf(again.body, 'event_type'), memberOf(again.body, 'status')]).toEqual([
      202,
      'assessment.reviewed',
      'pending',
    ])
  })

  it('stays pending when it is requested again, and records the key', async () => {
    const { id } = await endAssessment()
    const listed = await api.get(pathOf(`/deliveries/${id}`))
    const path = pathOf(`/deliveries/${id}/redeliver`)
    const asked = await api.post(path, { key: 'due' })
    expect([asked.status, asked.body, asked.headers['idempotency-replayed']]).toEqual([202, listed.body, undefined])
    const again = await api.post(path, { key: 'due' })
    expect([again.status, again.body, again.headers['idempotency-replayed']]).toEqual([202, listed.body, 'true'])
    expect((await api.get(pathOf(`/deliveries/${id}`))).body).toEqual(listed.body)
    await api.record(
      deliveryFact('WebhookDeliveryAttempted', { deliveryId: id }),
      deliveryFact('WebhookDelivered', { deliveryId: id, subscriptionId, attempt: 1 }),
    )
    const late = await api.post(path, { key: 'due' })
    expect([late.status, memberOf(late.body, 'status'), late.headers['idempotency-replayed']]).toEqual([
      202,
      'delivered',
      'true',
    ])
  })
})

describe('a test', () => {
  it('is a delivery like any other, at the Location of the answer', async () => {
    const sent = await api.post(pathOf('/test'))
    const now = api.world.now().toISOString()
    expect(sent.status).toBe(202)
    expect(sent.body).toEqual({
      id: expect.any(String),
      event_type: 'webhook.test',
      assessment_id: null,
      status: 'pending',
      attempts: [],
      next_attempt_at: now,
      created_at: now,
    })
    const location = String(sent.headers['location'])
    expect(location).toBe(
      `/v1/clinical-api/webhook-subscriptions/${subscriptionId}/deliveries/${String(memberOf(sent.body, 'id'))}`,
    )
    const found = await api.get(location.replace('/v1/clinical-api/webhook-subscriptions', ''))
    expect([found.status, found.headers['etag'], found.body]).toEqual([200, sent.headers['etag'], sent.body])
    expect(idsOf(await api.get(pathOf('/deliveries?event_type=webhook.test')))).toEqual([memberOf(sent.body, 'id')])
  })

  it('is one for each key, also after the subscription was disabled', async () => {
    const first = await api.post(pathOf('/test'), { key: 'once' })
    const again = await api.post(pathOf('/test'), { key: 'once' })
    expect([
      again.status,
      again.body,
      first.headers['idempotency-replayed'],
      again.headers['idempotency-replayed'],
    ]).toEqual([202, first.body, undefined, 'true'])
    await api.record(disabled())
    expect((await api.post(pathOf('/test'), { key: 'once' })).body).toEqual(first.body)
    expect(codeOf(await api.post(pathOf('/test'), { key: 'twice' }))).toEqual([409, 'webhook-subscription-disabled'])
    expect(codeOf(await api.post(pathOf('/test')))).toEqual([409, 'webhook-subscription-disabled'])
  })

  it('takes no body', async () => {
    expect(codeOf(await api.post(pathOf('/test'), { body: { event_type: 'assessment.failed' } }))).toEqual([
      400,
      'validation-failed',
    ])
    expect((await api.post(pathOf('/test'), { body: {} })).status).toBe(202)
  })
})

describe('requesting a delivery again', () => {
  it('makes an ended delivery pending again, once for each key', async () => {
    const { id } = await recordDelivery(1, 'failed')
    const path = pathOf(`/deliveries/${id}/redeliver`)
    const asked = await api.post(path, { key: 'again' })
    expect([asked.status, asked.body]).toEqual([
      202,
      expect.objectContaining({
        id,
        status: 'pending',
        next_attempt_at: api.world.now().toISOString(),
        created_at: at(1),
      }),
    ])
    expect((await api.get(pathOf(`/deliveries/${id}`))).body).toEqual(asked.body)
    const meanwhile = await api.post(path)
    expect([meanwhile.status, meanwhile.body, meanwhile.headers['idempotency-replayed']]).toEqual([
      202,
      asked.body,
      undefined,
    ])

    await api.record(
      deliveryFact('WebhookDeliveryAttempted', { deliveryId: id, attempt: 2 }),
      deliveryFact('WebhookDelivered', { deliveryId: id, subscriptionId, attempt: 2 }),
    )
    const repeated = await api.post(path, { key: 'again' })
    expect([repeated.status, memberOf(repeated.body, 'status'), repeated.headers['idempotency-replayed']]).toEqual([
      202,
      'delivered',
      'true',
    ])
    expect(memberOf((await api.post(path, { key: 'once-more' })).body, 'status')).toBe('pending')
  })

  it('is one round for any number of requests at once', async () => {
    const { id } = await recordDelivery(1, 'delivered')
    const asked = await Promise.all(
      ['a', 'b', 'c', 'd'].map((key) => api.post(pathOf(`/deliveries/${id}/redeliver`), { key })),
    )
    expect(asked.map(({ status }) => status)).toEqual([202, 202, 202, 202])
    const types: string[] = []
    for await (const { type } of api.world.store.readStream(webhookDeliveries.of(api.world.orgId, id).stream))
      types.push(type)
    const unneeded = 'WebhookRedeliveryUnneeded'
    expect(types.slice(3)).toEqual(['WebhookRedeliveryRequested', unneeded, unneeded, unneeded])
    expect((await api.get(pathOf(`/deliveries/${id}`))).headers['etag']).toBe('"6"')
  })

  it('with a key that found it pending begins no round later', async () => {
    const { id } = await recordDelivery(1)
    const path = pathOf(`/deliveries/${id}/redeliver`)
    const first = await api.post(path, { key: 'early' })
    expect([first.status, memberOf(first.body, 'status'), first.headers['idempotency-replayed']]).toEqual([
      202,
      'pending',
      undefined,
    ])
    await api.record(
      deliveryFact('WebhookDeliveryAttempted', { deliveryId: id, attempt: 2 }),
      deliveryFact('WebhookDeliveryFailed', { deliveryId: id, subscriptionId, attempt: 2 }),
    )
    const again = await api.post(path, { key: 'early' })
    expect([again.status, memberOf(again.body, 'status'), again.headers['idempotency-replayed']]).toEqual([
      202,
      'failed',
      'true',
    ])
  })

  it('is recorded also without a key if a disabling may still cancel the delivery', async () => {
    const { id } = await recordDelivery(1)
    await api.record(disabled(), enabled())
    for (let time = 0; time < 2; time += 1)
      expect((await api.post(pathOf(`/deliveries/${id}/redeliver`))).status).toBe(202)
    const { store, orgId } = api.world
    const { state } = await store.loadCached(webhookSubscriptions.of(orgId))
    const { endpointRevision } = state.subscriptions.get(subscriptionId) ?? {}
    expect(await store.readLast(webhookDeliveries.of(orgId, id).stream)).toMatchObject({
      type: 'WebhookRedeliveryUnneeded',
      revision: 3n,
      data: { request: null, endpointRevision },
    })
  })

  it('with too many new keys is refused while it is pending', async () => {
    const { id } = await recordDelivery(1)
    const ask = (key: string) => api.post(pathOf(`/deliveries/${id}/redeliver`), { key })
    const asked: WebhookAnswer[] = []
    for (let number = 0; number <= 20; number += 1) asked.push(await ask(`key-${number}`))
    expect(asked.slice(0, 20).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 202))
    expect(asked.slice(20).map(codeOf)).toEqual([[409, 'webhook-delivery-pending']])
    expect((await ask('key-3')).headers['idempotency-replayed']).toBe('true')
  })

  it('is refused while the subscription is disabled, and accepted after it is enabled', async () => {
    const { id } = await recordDelivery(1, 'cancelled')
    await api.record(disabled())
    expect(codeOf(await api.post(pathOf(`/deliveries/${id}/redeliver`)))).toEqual([
      409,
      'webhook-subscription-disabled',
    ])
    await api.record(enabled())
    expect((await api.post(pathOf(`/deliveries/${id}/redeliver`))).status).toBe(202)
  })
})

describe('the answers of 202', () => {
  it('have Retry-After: the seconds to the next attempt, at least one', async () => {
    const retryAfter = (answer: WebhookAnswer) => [answer.status, answer.headers['retry-after']]
    expect(retryAfter(await api.post(pathOf('/test'), { key: 'sent' }))).toEqual([202, '1'])
    expect(retryAfter(await api.post(pathOf('/recover'), { body: { since: longAgo } }))).toEqual([202, '1'])
    const { id } = await recordDelivery(1, 'failed')
    const path = pathOf(`/deliveries/${id}/redeliver`)
    expect(retryAfter(await api.post(path, { key: 'asked' }))).toEqual([202, '1'])
    const nextAttemptAt = new Date(api.world.now().getTime() + 89_001).toISOString()
    await api.record(
      deliveryFact('WebhookDeliveryAttempted', { deliveryId: id, attempt: 2 }),
      deliveryFact('WebhookDeliveryAttemptFailed', { deliveryId: id, subscriptionId, attempt: 2, nextAttemptAt }),
    )
    expect(retryAfter(await api.post(path))).toEqual([202, '90'])
  })
})

describe('recovering', () => {
  const namedBy = async (key: string, body: object) => {
    const answer = await api.post(pathOf('/recover'), { body, key })
    expect([answer.status, answer.headers['location']]).toEqual([
      202,
      `/v1/clinical-api/webhook-subscriptions/${subscriptionId}/deliveries`,
    ])
    return answer
  }

  it('contains the failed and cancelled deliveries of the period, oldest first, and no tests', async () => {
    const deliveries = [
      await recordDelivery(9, 'failed'),
      await recordDelivery(10, 'failed'),
      await recordDelivery(11, 'delivered'),
      await recordDelivery(12),
      await recordDelivery(13, 'cancelled'),
      await recordDelivery(14, 'failed'),
      await recordDelivery(15, 'failed'),
    ]
    await recordDelivery(12, 'failed', 'test')
    const answer = await namedBy('recover', { since: at(10), until: '2026-03-01T11:00:15.000+01:00' })
    expect(answer.body).toEqual({ deliveries: 3, has_more: false })
    const [fact, ...others] = await recoveries()
    expect([others, fact]).toEqual([
      [],
      expect.objectContaining({
        subscriptionId,
        since: at(10),
        until: at(15),
        hasMore: false,
        deliveries: [1, 4, 5].map((place) => ({
          deliveryId: deliveries[place]?.id,
          eventId: deliveries[place]?.eventId,
        })),
      }),
    ])
  })

  it('answers a repeat with the deliveries found the first time, and refuses another body', async () => {
    await recordDelivery(10, 'failed')
    const body = { since: at(0), until: at(60) }
    const first = await namedBy('same', body)
    await recordDelivery(11, 'failed')
    await api.record(disabled())
    const again = await namedBy('same', body)
    expect([again.body, first.headers['idempotency-replayed'], again.headers['idempotency-replayed']]).toEqual([
      first.body,
      undefined,
      'true',
    ])
    expect(codeOf(await api.post(pathOf('/recover'), { key: 'same', body: { ...body, since: longAgo } }))).toEqual([
      409,
      'idempotency-key-reused',
    ])
    expect(codeOf(await api.post(pathOf('/recover'), { key: 'other', body }))).toEqual([
      409,
      'webhook-subscription-disabled',
    ])
  })

  it('contains at most a thousand, and indicates that there are more', async () => {
    api.setFound(async (_org, _subscription, _period, limit) =>
      Array.from({ length: limit }, () => ({ deliveryId: randomUUID(), eventId: randomUUID() })),
    )
    expect((await namedBy('many', { since: at(0), until: at(60) })).body).toEqual({ deliveries: 1000, has_more: true })
    api.setFound(undefined)
  })

  it('uses now as the default end of the period, and refuses a period that ends before it begins', async () => {
    api.world.pass(20)
    await recordDelivery(10, 'failed')
    expect((await namedBy('until-now', { since: longAgo })).body).toEqual({ deliveries: 1, has_more: false })
    for (const body of [
      { since: at(60), until: at(60) },
      { since: '2999-01-01T00:00:00Z' },
      { since: 'yesterday' },
      {},
    ]) {
      expect(codeOf(await api.post(pathOf('/recover'), { body }))).toEqual([400, 'validation-failed'])
    }
  })
})

/** Recorded recoveries of this test's subscription. */
async function recoveries(): Promise<unknown[]> {
  const { store, orgId } = api.world
  const filter = { streamPrefixes: [webhookRecoveries.of(orgId, '').stream] }
  const facts: unknown[] = []
  const piece = { filter, after: startOfLog, upTo: await store.head(filter), wants: () => true, batchSize: 100 }
  for await (const { events } of store.readLog(piece)) facts.push(...events.map(({ data }) => data))
  return facts.filter((data) => memberOf(data, 'subscriptionId') === subscriptionId)
}
