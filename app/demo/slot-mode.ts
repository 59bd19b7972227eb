import { Webhook } from 'standardwebhooks'
import { at, textAt, type ApiClient } from './api-client.ts'
import { expectStatus, pollToEnd, untilReceived, type DemoImage, type Step } from './steps.ts'
import type { WebhookReceiver } from './webhook-receiver.ts'

export interface SlotModeOptions {
  readonly step: Step
  readonly api: ApiClient
  /** A patient who has granted consent to the analysis. */
  readonly patientId: string
  readonly images: readonly DemoImage[]
  readonly receiver: WebhookReceiver
  /** Secret of the webhook subscription. */
  readonly secret: string
}

/** The same job in slot mode: declare the images, upload them to signed addresses, submit. */
export async function runSlotMode({ step, api, patientId, images, receiver, secret }: SlotModeOptions): Promise<void> {
  const record = await step('request an assessment, images to come', async () => {
    const declared = images.map(({ mimeType }, index) => ({
      capture_type: index === 0 ? 'dermoscopic' : 'macroscopic',
      mime_type: mimeType,
    }))
    const body = {
      patient_id: patientId,
      finding: { finding_type: 'lesion' },
      images: declared,
      external_reference: 'demo-2',
    }
    const answer = await expectStatus(202, api.call('/v1/clinical-api/assessments', { body }))
    return [`202, ${textAt(answer.body, 'status')}, ${images.length} upload address(es)`, answer.body]
  })
  const id = textAt(record, 'id')
  const submit = () => api.call(`/v1/clinical-api/assessments/${id}/submit`, { method: 'POST' })
  await step('submit before the uploads', async () => {
    const answer = await expectStatus(409, submit())
    const missing = at(answer.body, 'missing_image_ids')
    return [`409, ${textAt(answer.body, 'code')}: ${Array.isArray(missing) ? missing.length : 0} missing`, undefined]
  })
  await step('upload the images, without a token', async () => {
    for (const [index, { mimeType, data }] of images.entries()) {
      const options = { method: 'PUT', headers: { 'content-type': mimeType }, body: Buffer.from(data, 'base64') }
      const response = await fetch(textAt(record, 'images', index, 'upload_url'), options)
      if (response.status !== 200) throw new Error(`the upload of image ${index} was answered ${response.status}`)
    }
    return [`200, ${images.length} time(s)`, undefined]
  })
  await step('submit', async () => {
    const answer = await expectStatus(200, submit())
    return [`200, ${textAt(answer.body, 'status')}, case ${textAt(answer.body, 'case_id')}`, undefined]
  })
  await step('poll until it is completed', () => pollToEnd(api, id, 'completed'))
  await step('receive and verify the webhook', async () => {
    const webhook = await untilReceived(receiver, id)
    new Webhook(secret).verify(webhook.body, { ...webhook.headers })
    return [`${webhook.headers['webhook-event-type']}, signature verified`, undefined]
  })
}
