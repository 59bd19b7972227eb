import { afterAll, beforeAll, expect, test } from 'vitest'
import { at } from '../../../app/demo/members.ts'
import { runMainJob } from '../../../app/demo/main-job.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import { photograph } from '../../support/main-job.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'

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

test('the demo runs both modes to their end, each with its webhook, and ends with a mail', async () => {
  const photographs = [await photograph('dermoscopic'), await photograph('macroscopic', 'lesion-3.png')]
  const images = photographs.map(({ entry }) => ({ mimeType: entry.mime_type, data: entry.data }))
  const lines: string[] = []
  const report = (what: string, result: string) => void lines.push(`${what}: ${result}`)
  const { credentials } = platform.process
  const { assessment, mail } = await runMainJob({ credentials, images, receiver, report })
  expect(at(assessment, 'status')).toBe('completed')
  expect(mail).toMatchObject({ to: 'ada@example.org', subject: 'An assessment is complete' })
  expect(mail.text).toContain(String(at(assessment, 'id')))
  const page = await fetch(mail.address)
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining(mail.subject)])
  const inOrder = [
    /^create an account for the patient: 201, ada@example.org/,
    /^subscribe the patient to completions: 201/,
    /^request an assessment, images in the body: 202, processing/,
    /^poll until it is completed: completed after/,
    /^receive and verify the webhook: assessment.completed, signature verified/,
    /^request an assessment, images to come: 202, awaiting_images, 2 upload/,
    /^submit before the uploads: 409, uploads-incomplete: 2 missing/,
    /^upload the images, without a token: 200, 2 time/,
    /^submit: 200, processing/,
    /^poll until it is completed: completed after/,
    /^receive and verify the webhook: assessment.completed, signature verified/,
    /^read the mail about the assessment: "An assessment is complete" to ada@example.org/,
  ]
  const left = lines.reduce((steps, line) => (steps[0]?.test(line) === true ? steps.slice(1) : steps), inOrder)
  expect(left).toEqual([])
  const hashes = photographs.map(({ sha256 }) => sha256)
  const sent = (await platform.provider.calls()).flatMap(({ call, sha256 }) =>
    call === 'image' && sha256 !== undefined ? [sha256] : [],
  )
  expect(sent).toEqual([...hashes, ...hashes])
})
