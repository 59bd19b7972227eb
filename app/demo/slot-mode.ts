import { verifyWebhook, type Client, type Schemas } from 'clinical-assessment-client/source'
import { expectProblem, pollToEnd, untilReceived, type DemoImage, type Step } from './steps.ts'
import type { WebhookReceiver } from './webhook-receiver.ts'

export interface SlotModeOptions {
  readonly step: Step
  readonly client: Client
  /** The same without repeats. */
  readonly impatient: Client
  /** A patient who has granted consent to the analysis. */
  readonly patientId: string
  readonly images: readonly DemoImage[]
  readonly receiver: WebhookReceiver
  /** Secret of the webhook subscription. */
  readonly secret: string
}

/** The same job in slot mode: declare the images, upload them to signed addresses, submit. */
export async function runSlotMode(options: SlotModeOptions): Promise<void> {
  const { step, client, impatient, patientId, images, receiver, secret } = options
  const record = await step('request an assessment, images to come', async () => {
    const body: Schemas['CreateAssessmentBody'] = {
      patient_id: patientId,
      finding: { finding_type: 'lesion' },
      images: images.map(({ mimeType }, index) => ({
        capture_type: index === 0 ? 'dermoscopic' : 'macroscopic',
        mime_type: mimeType,
      })),
      external_reference: 'demo-2',
    }
    const { status, data } = await client.request('POST', '/v1/clinical-api/assessments', { body })
    return [`${status}, ${data.status}, ${images.length} upload address(es)`, data]
  })
  const { id } = record
  const submit = (by: Client) => by.request('POST', '/v1/clinical-api/assessments/{id}/submit', { params: { id } })
  await step('submit before the uploads', async () => {
    const { status, code, body } = await expectProblem(409, submit(impatient))
    return [`${status}, ${code}: ${body.missing_image_ids?.length ?? 0} missing`, undefined]
  })
  await step('upload the images, without a token', async () => {
    for (const [index, { mimeType, data }] of images.entries()) {
      const url = record.images[index]?.upload_url
      if (url === undefined) throw new Error(`image ${index} has no upload address`)
      await client.upload(url, Buffer.from(data, 'base64'), { type: mimeType })
    }
    return [`200, ${images.length} time(s)`, undefined]
  })
  await step('submit', async () => {
    const { status, data } = await submit(client)
    return [`${status}, ${data.status}, case ${data.case_id}`, undefined]
  })
  await step('poll until it is completed', () => pollToEnd(client, id, 'completed'))
  await step('receive and verify the webhook', async () => {
    const webhook = await untilReceived(receiver, id)
    await verifyWebhook(webhook.body, webhook.headers, secret)
    return [`${webhook.headers['webhook-event-type']}, signature verified`, undefined]
  })
}
