import { createPublicKey, verify } from 'node:crypto'
import { Webhook, WebhookVerificationError } from 'standardwebhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type ReceivedWebhook, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { expecting } from '../../support/main-job.ts'
import { waitFor, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'

let platform: PlatformInUse
let api: ApiClient
let receiver: WebhookReceiver
let path: string
const secrets: string[] = []

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  platform = await joinSharedPlatform()
  api = await platform.connect()
  const body = { url: receiver.url, event_types: ['assessment.failed'] }
  const subscribed = await expecting(201, api.call('/v1/clinical-api/webhook-subscriptions', { body }))
  path = `/v1/clinical-api/webhook-subscriptions/${textAt(subscribed.body, 'id')}`
  secrets.push(textAt(subscribed.body, 'secret'))
})

afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

/** A test is signed like the webhook about an assessment. */
async function webhook(): Promise<ReceivedWebhook> {
  const id = textAt((await expecting(202, api.call(`${path}/test`, { method: 'POST' }))).body, 'id')
  return waitFor(`the webhook ${id}`, () => receiver.received.find(({ headers }) => headers['webhook-id'] === id))
}

async function rotate(graceSeconds: number): Promise<void> {
  const rotated = await expecting(
    200,
    api.call(`${path}/rotate-secret`, { method: 'POST', body: { grace_seconds: graceSeconds } }),
  )
  secrets.push(textAt(rotated.body, 'secret'))
}

/** For each secret so far, in order: whether the official library verifies the webhook with it. */
function verifying({ body, headers }: ReceivedWebhook): boolean[] {
  return secrets.map((secret) => {
    try {
      new Webhook(secret).verify(body, { ...headers })
      return true
    } catch (error) {
      if (error instanceof WebhookVerificationError) return false
      throw error
    }
  })
}

/** Whether one of the signatures is from the published key with that id. */
async function isSignedByKey(kid: string, { body, headers }: ReceivedWebhook): Promise<boolean> {
  const published = await fetch(`${platform.baseUrl}/v1/clinical-api/.well-known/webhook-keys?kid=${kid}`)
  const key = createPublicKey({ key: Object(at(await published.json(), 'keys', 0)), format: 'jwk' })
  const content = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
  const signatures = (headers['webhook-signature'] ?? '').split(' ').filter((one) => one.startsWith('v1a,'))
  return signatures.some((one) => verify(null, content, key, Buffer.from(one.slice('v1a,'.length), 'base64')))
}

const currentKey = async () => textAt((await expecting(200, api.call(path))).body, 'public_key_id')

test('every delivery verifies with the secret of the receiver, during and after its replacement', async () => {
  const before = await webhook()
  expect(verifying(before)).toEqual([true])
  const firstKey = await currentKey()
  expect(await isSignedByKey(firstKey, before)).toBe(true)

  const amid = await Promise.all([webhook(), webhook(), rotate(3_600), webhook(), webhook()])
  for (const one of amid) if (one !== undefined) expect(verifying(one)[0]).toBe(true)
  const during = await webhook()
  expect(verifying(during)).toEqual([true, true])
  const secondKey = await currentKey()
  expect(secondKey).not.toBe(firstKey)
  expect(await Promise.all([firstKey, secondKey].map((kid) => isSignedByKey(kid, during)))).toEqual([true, true])
})

test('a leaked secret signs nothing after a replacement without grace', async () => {
  await rotate(0)
  const after = await webhook()
  expect(verifying(after)).toEqual([true, false, true])
  expect(await isSignedByKey(await currentKey(), after)).toBe(true)
})
