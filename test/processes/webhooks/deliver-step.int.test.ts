import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { attemptDelivery } from '../../../commands/webhooks/deliver-webhook.ts'
import { execute } from '../../../engine/commands/execute.ts'
import { createWebhookSender } from '../../../processes/adapters/webhook-sender.ts'
import { contextOf } from '../../engine/commands/decision-world.ts'
import { at, hash, ids } from '../../streams/facts.ts'
import { startOutsideServer, type Reply } from '../../support/process-world.ts'
import { givenDeliveries } from './given-deliveries.ts'
import { reviewedAssessment, subscribe } from './webhook-steps.ts'

const minuteMs = 60_000
const given = givenDeliveries()
const { due, later } = given

describe('a delivery', () => {
  it('sends the record once, and nothing when the step runs again', async () => {
    const delivery = due()
    expect(await delivery.work()).toMatchObject({ kind: 'done', position: expect.anything(), health: 'good' })
    expect(await delivery.work()).toEqual({ kind: 'done' })
    expect(await delivery.types()).toEqual(['WebhookDeliveryScheduled', 'WebhookDeliveryAttempted', 'WebhookDelivered'])
    const [first, ...more] = delivery.receivedBy(given.receiver)
    expect(more).toEqual([])
    expect(JSON.parse(first?.body ?? '')).toMatchObject({
      id: ids.assessment,
      status: 'failed',
      error: { code: 'ANALYSIS_FAILED' },
    })
    expect(first?.headers).toMatchObject({
      'webhook-event-type': 'assessment.failed',
      'content-type': 'application/json',
    })
  })

  it('sends only id and status to a thin subscription', async () => {
    const delivery = due(await subscribe(given.world, { url: given.receiver.url, payloadMode: 'thin' }))
    await delivery.work()
    expect(delivery.receivedBy(given.receiver).map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      { id: ids.assessment, status: 'failed' },
    ])
  })

  it.each([
    [
      'full',
      {
        status: 'failed',
        task_id: ids.task,
        ai_review_id: ids.review,
        review: { status: 'decided', decided_at: at(90), agrees_with_ai: false },
      },
    ],
    ['thin', { status: 'failed', task_id: ids.task, ai_review_id: ids.review }],
  ] as const)(
    'sends the decision of a human review in the mode %s, and once more on request',
    async (mode, decision) => {
      const assessmentId = randomUUID()
      const eventId = await reviewedAssessment(given.world, assessmentId)
      const of = await subscribe(given.world, { url: given.receiver.url, payloadMode: mode })
      const delivery = due(of, { assessmentId, eventId, eventType: 'assessment.reviewed' })
      await delivery.work()
      const [first] = delivery.receivedBy(given.receiver)
      expect(first?.headers['webhook-event-type']).toBe('assessment.reviewed')
      const body = JSON.parse(first?.body ?? '') as unknown
      if (mode === 'thin') expect(body).toEqual({ id: assessmentId, ...decision })
      else expect(body).toMatchObject({ id: assessmentId, ...decision, error: { code: 'ANALYSIS_FAILED' } })

      await delivery.askAgain(of, { key: hash('c'), fingerprint: hash('f') })
      await delivery.again().work()
      expect(delivery.receivedBy(given.receiver).map((sent) => JSON.parse(sent.body) as unknown)).toEqual([body, body])
    },
  )

  it('waits for an open attempt of another worker, and repeats it under the same number when its lease has ended', async () => {
    const delivery = due()
    const { id: deliveryId, eventId } = delivery
    const named = {
      deliveryId,
      subscriptionId: given.subscription.subscriptionId,
      eventId,
      organisationId: given.world.orgId,
    }
    const event = {
      origin: 'event' as const,
      eventType: 'assessment.failed' as const,
      assessmentId: ids.assessment,
      occurredAt: later(0),
      request: null,
    }
    const leaseUntil = new Date(given.world.now().getTime() + 20_000)
    const other = { delivery: { ...named, ...event }, shown: null, now: given.world.now(), leaseUntil }
    await execute(
      given.world.otherStore,
      delivery.target,
      (state) => attemptDelivery(other, state),
      contextOf(given.world),
    )

    expect(await delivery.work()).toEqual({ kind: 'wait', until: leaseUntil })
    expect(delivery.receivedBy(given.receiver)).toEqual([])

    given.world.pass(20)
    await delivery.work()
    expect(delivery.receivedBy(given.receiver)).toHaveLength(1)
    expect(await delivery.last()).toMatchObject({ type: 'WebhookDelivered', data: { attempt: 1 } })
  })

  it('is sent by one of several workers that run the step at once', async () => {
    // The receiver answers after the other workers have found the open attempt, or have sent too.
    const answered = Promise.withResolvers<void>()
    const server = await startOutsideServer(async () => {
      if (server.asked.length > 1) answered.resolve()
      await answered.promise
      return { status: 204 }
    })
    try {
      const delivery = due(await subscribe(given.world, { url: server.url }))
      let left = 5
      const working = Array.from({ length: left }, async () => {
        const outcome = await delivery.work()
        left -= 1
        if (left === 1) answered.resolve()
        return outcome.kind
      })
      expect((await Promise.all(working)).toSorted()).toEqual(['done', 'wait', 'wait', 'wait', 'wait'])
      expect(server.asked).toHaveLength(1)
      expect(await delivery.types()).toEqual([
        'WebhookDeliveryScheduled',
        'WebhookDeliveryAttempted',
        'WebhookDelivered',
      ])
    } finally {
      await server.close()
    }
  })

  it('waits for the first delay of the schedule, if it has one', async () => {
    const configuration = { ...given.world.configuration, webhookRetryScheduleMs: [3_000] }
    const delivery = due(given.subscription, {}, { ...given.deps, configuration })
    expect(await delivery.work()).toEqual({ kind: 'wait', until: new Date(later(3_000)) })
    expect(await delivery.types()).toEqual([])
    given.world.pass(3)
    await delivery.work()
    expect(delivery.receivedBy(given.receiver)).toHaveLength(1)
  })
})

describe('an attempt that fails', () => {
  it('is due again after the next delay of the schedule, and counts against the endpoint that was called', async () => {
    given.status = 500
    const delivery = due()
    expect(await delivery.work()).toMatchObject({ kind: 'done', health: 'bad' })
    const { endpointRevision } = await given.subscription.current()
    const endpoint = { revision: endpointRevision, reviewAt: later(2.5 * 86_400_000) }
    expect(await delivery.last()).toMatchObject({
      type: 'WebhookDeliveryAttemptFailed',
      data: { attempt: 1, statusCode: 500, errorClass: 'http_status', nextAttemptAt: later(5_000), endpoint },
    })
  })

  it.each([
    [0, 4_000, 240_000],
    [0.999_999_999, 6_000, 360_000],
  ])('is delayed by 20 % less or more: a random %d', async (random, afterFirst, afterSecond) => {
    given.status = 400
    const delivery = due(given.subscription, {}, { ...given.deps, random: () => random })
    await delivery.work()
    expect(await delivery.last()).toMatchObject({ data: { nextAttemptAt: later(afterFirst) } })
    await delivery.workAgain()
    expect(await delivery.last()).toMatchObject({ data: { attempt: 2, nextAttemptAt: later(afterSecond) } })
  })

  it('is the last one after ten', async () => {
    given.status = 503
    const delivery = due()
    await delivery.work()
    for (let attempt = 2; attempt <= 10; attempt += 1) await delivery.workAgain()
    expect(await delivery.last()).toMatchObject({
      type: 'WebhookDeliveryFailed',
      data: { attempt: 10, statusCode: 503 },
    })
    expect(await delivery.work()).toEqual({ kind: 'done' })
    expect(delivery.receivedBy(given.receiver)).toHaveLength(10)
    expect(new Set(delivery.receivedBy(given.receiver).map(({ headers }) => headers['webhook-timestamp'])).size).toBe(
      10,
    )
  })

  it('is the last one when the receiver answers 410', async () => {
    given.status = 410
    const delivery = due()
    await delivery.work()
    expect(await delivery.last()).toMatchObject({
      type: 'WebhookDeliveryFailed',
      data: { attempt: 1, statusCode: 410, endpoint: { revision: expect.any(Number) } },
    })
  })

  async function answered(reply: Reply | 'cut') {
    const server = await startOutsideServer(() => reply)
    try {
      const delivery = due(await subscribe(given.world, { url: `${server.url}/hooks` }))
      const outcome = await delivery.work()
      return { outcome, last: await delivery.last(), asked: server.asked }
    } finally {
      await server.close()
    }
  }

  it.each([429, 503])('is repeated after the Retry-After of a %i', async (code) => {
    const { outcome, last } = await answered({ status: code, headers: { 'retry-after': '120' } })
    expect(last).toMatchObject({ data: { statusCode: code, nextAttemptAt: later(2 * minuteMs) } })
    expect(outcome).toMatchObject({ health: 'bad', pauseMs: 2 * minuteMs })
  })

  it('is repeated after a day at most, and the Retry-After of a 500 has no effect', async () => {
    const forLong = await answered({ status: 429, headers: { 'retry-after': '999999999' } })
    expect(forLong.last).toMatchObject({ data: { nextAttemptAt: later(1_440 * minuteMs) } })
    const other = await answered({ status: 500, headers: { 'retry-after': '120' } })
    expect(other.last).toMatchObject({ data: { nextAttemptAt: later(5_000) } })
    expect(other.outcome).not.toHaveProperty('pauseMs')
  })

  it.each([301, 302, 307, 308])('is a redirect by %i, which is not followed', async (code) => {
    const { last, asked } = await answered({ status: code, headers: { location: given.receiver.url } })
    expect(last).toMatchObject({
      type: 'WebhookDeliveryAttemptFailed',
      data: { statusCode: code, errorClass: 'redirect' },
    })
    expect(asked).toEqual(['POST /hooks'])
  })

  it('is a connection that was cut off or refused', async () => {
    expect((await answered('cut')).last).toMatchObject({ data: { statusCode: null, errorClass: 'connect' } })
    const nobody = due(await subscribe(given.world, { url: 'http://127.0.0.1:1/' }))
    expect(await nobody.work()).toMatchObject({ kind: 'done', health: 'unreachable' })
    expect(await nobody.last()).toMatchObject({ data: { statusCode: null, errorClass: 'connect' } })
  })

  it('is one without an answer in time', async () => {
    const server = await startOutsideServer(() => new Promise(() => undefined))
    try {
      const impatient = {
        ...given.deps,
        webhooks: createWebhookSender(given.egress, { webhookTimeoutMs: 100, profile: 'development' }),
      }
      const delivery = due(await subscribe(given.world, { url: server.url }), {}, impatient)
      expect(await delivery.work()).toMatchObject({ kind: 'done', health: 'unreachable' })
      expect(await delivery.last()).toMatchObject({
        type: 'WebhookDeliveryAttemptFailed',
        data: { statusCode: null, errorClass: 'timeout' },
      })
    } finally {
      await server.close()
    }
  })
})

describe('a test', () => {
  const test = { eventType: 'webhook.test', assessmentId: null } as const

  it('contains a mark that it is a test', async () => {
    const delivery = due(given.subscription, test)
    await delivery.work()
    const [received] = delivery.receivedBy(given.receiver)
    expect([received?.headers['webhook-event-type'], received?.body]).toEqual(['webhook.test', '{"test":true}'])
  })

  it('is sent once, and counts against no endpoint', async () => {
    given.status = 500
    const delivery = due(given.subscription, test)
    await delivery.work()
    expect(await delivery.last()).toMatchObject({ type: 'WebhookDeliveryFailed', data: { attempt: 1, endpoint: null } })
  })
})
