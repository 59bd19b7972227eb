import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { at } from '../../../app/demo/api-client.ts'
import { runMainJob } from '../../../app/demo/main-job.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { photograph } from '../../support/main-job.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'

// Two analyses may be slow on a busy machine.
vi.setConfig({ testTimeout: 120_000 })

let platform: TestPlatform
let receiver: WebhookReceiver

beforeAll(async () => {
  platform = await startTestPlatform()
  receiver = await startWebhookReceiver()
})

afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

test('the demo runs both modes to their end, each with its webhook', async () => {
  const photographs = [await photograph('dermoscopic'), await photograph('macroscopic', 'lesion-3.png')]
  const images = photographs.map(({ entry }) => ({ mimeType: entry.mime_type, data: entry.data }))
  const told: string[] = []
  const report = (what: string, result: string) => void told.push(`${what}: ${result}`)
  const record = await runMainJob({ credentials: platform.process.credentials, images, receiver, report })
  expect(at(record, 'status')).toBe('completed')
  const inOrder = [
    /^request an assessment, images in the body: 202, processing/,
    /^poll until it is completed: completed after/,
    /^receive and verify the webhook: assessment.completed, signature verified/,
    /^request an assessment, images to come: 202, awaiting_images, 2 upload/,
    /^submit before the uploads: 409, uploads-incomplete: 2 missing/,
    /^upload the images, without a token: 200, 2 time/,
    /^submit: 200, processing/,
    /^poll until it is completed: completed after/,
    /^receive and verify the webhook: assessment.completed, signature verified/,
  ]
  const left = told.reduce((steps, line) => (steps[0]?.test(line) === true ? steps.slice(1) : steps), inOrder)
  expect(left).toEqual([])
  const hashes = photographs.map(({ sha256 }) => sha256)
  const sent = (await platform.provider.calls()).flatMap(({ call, sha256 }) =>
    call === 'image' && sha256 !== undefined ? [sha256] : [],
  )
  expect(sent).toEqual([...hashes, ...hashes])
})
