import { createPublicKey, verify, type JsonWebKey } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import {
  assessmentBody,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  registerPatient,
  requestAssessment,
} from '../../support/main-job.ts'
import { waitFor, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let receiver: WebhookReceiver
let status = 204
let path: string
let secret: string
let publicKeyId: string
let patientId: string

beforeAll(async () => {
  receiver = await startWebhookReceiver(() => status)
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  await createConsentTerms(api, platform.process.credentials.org_id)
  patientId = await registerPatient(api)
  const body = { url: receiver.url, event_types: ['assessment.failed'] }
  const subscription = await expecting(201, api.call('/v1/clinical-api/webhook-subscriptions', { body }))
  path = `/v1/clinical-api/webhook-subscriptions/${textAt(subscription.body, 'id')}`
  secret = textAt(subscription.body, 'secret')
  publicKeyId = textAt(subscription.body, 'public_key_id')
})
beforeEach(() => {
  status = 204
})
afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

/** The delivery after it has ended. */
const ended = (id: string) =>
  waitFor(`the end of delivery ${id}`, async () => {
    const { body } = await api.call(`${path}/deliveries/${id}`)
    return ['delivered', 'failed', 'cancelled'].includes(String(at(body, 'status'))) ? body : undefined
  })

const outcomesOf = (delivery: unknown) =>
  (at(delivery, 'attempts') as unknown[]).map((attempt) => [at(attempt, 'status_code'), at(attempt, 'error_class')])
const receivedAs = (id: string) => receiver.received.filter(({ headers }) => headers['webhook-id'] === id)

/** Verifies as a receiver without the secret does: with the published key of the subscription. */
async function isSignedByKey(headers: Readonly<Record<string, string>>, body: string): Promise<boolean> {
  const { keys } = (await (
    await fetch(`${platform.baseUrl}/v1/clinical-api/.well-known/webhook-keys?kid=${publicKeyId}`)
  ).json()) as { keys: [JsonWebKey] }
  const key = createPublicKey({ key: keys[0], format: 'jwk' })
  const content = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
  const signatures = headers['webhook-signature']?.split(' ') ?? []
  return signatures.some(
    (one) => one.startsWith('v1a,') && verify(null, content, key, Buffer.from(one.slice(4), 'base64')),
  )
}

/** The delivery about an assessment that ends without consent. */
async function ofAnAssessment(): Promise<string> {
  const assessmentId = await requestAssessment(api, assessmentBody(patientId, [await photograph()]))
  await endOf(api, assessmentId)
  return waitFor(`a delivery about ${assessmentId}`, async () => {
    const { body } = await expecting(200, api.call(`${path}/deliveries`))
    const found = (at(body, 'data') as unknown[]).find((one) => at(one, 'assessment_id') === assessmentId)
    return found === undefined ? undefined : textAt(found, 'id')
  })
}

test('a test is received as documented, and is not sent again when it is refused', async () => {
  const sent = await expecting(202, api.call(`${path}/test`, { method: 'POST' }))
  const id = textAt(sent.body, 'id')
  const delivery = await ended(id)
  expect([at(delivery, 'status'), at(delivery, 'event_type'), outcomesOf(delivery)]).toEqual([
    'delivered',
    'webhook.test',
    [[204, null]],
  ])
  const [received] = receivedAs(id)
  expect(received?.headers['webhook-event-type']).toBe('webhook.test')
  expect(new Webhook(secret).verify(received?.body ?? '', { ...received?.headers })).toEqual({ test: true })
  expect(await isSignedByKey(received?.headers ?? {}, received?.body ?? '')).toBe(true)
  expect(await isSignedByKey(received?.headers ?? {}, '{"test":false}')).toBe(false)

  status = 500
  const refused = await ended(textAt((await expecting(202, api.call(`${path}/test`, { method: 'POST' }))).body, 'id'))
  expect([at(refused, 'status'), at(refused, 'next_attempt_at'), outcomesOf(refused)]).toEqual([
    'failed',
    null,
    [[500, 'http_status']],
  ])
})

test('a refused delivery is sent again on request, under its id', async () => {
  status = 500
  const id = await ofAnAssessment()
  const failed = await ended(id)
  expect([at(failed, 'status'), outcomesOf(failed)]).toEqual([
    'failed',
    [
      [500, 'http_status'],
      [500, 'http_status'],
    ],
  ])
  status = 204
  await expecting(202, api.call(`${path}/deliveries/${id}/redeliver`, { method: 'POST' }))
  const delivered = await ended(id)
  expect([at(delivered, 'status'), outcomesOf(delivered)]).toEqual(['delivered', [...outcomesOf(failed), [204, null]]])
  expect(receivedAs(id)).toHaveLength(3)
  // A successful delivery may also be requested again.
  await expecting(202, api.call(`${path}/deliveries/${id}/redeliver`, { method: 'POST' }))
  await waitFor('a fourth attempt', () => (receivedAs(id).length === 4 ? true : undefined))
  expect(at(await ended(id), 'status')).toBe('delivered')
})

test('a recovery after an outage of the receiver sends each delivery once more', async () => {
  const since = new Date().toISOString()
  status = 503
  const missed = [await ofAnAssessment(), await ofAnAssessment()]
  for (const id of missed) expect(at(await ended(id), 'status')).toBe('failed')
  status = 204
  const taken = await ofAnAssessment()
  await ended(taken)
  const recovered = await expecting(202, api.call(`${path}/recover`, { body: { since } }))
  expect(recovered.body).toEqual({ deliveries: 2, has_more: false })
  for (const id of missed) {
    await waitFor(`the recovery of ${id}`, async () =>
      at(await ended(id), 'status') === 'delivered' ? true : undefined,
    )
    expect(receivedAs(id)).toHaveLength(3)
  }
  expect(receivedAs(taken)).toHaveLength(1)
  expect((await expecting(202, api.call(`${path}/recover`, { body: { since } }))).body).toEqual({
    deliveries: 0,
    has_more: false,
  })
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toContain('redeliverWebhook 202')
  expect(await watched.undocumented()).toEqual([])
})
