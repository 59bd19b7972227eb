import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  requestAssessment,
  reviewOfCase,
  subscribeToEnds,
  webhookAbout,
  webhooksAbout,
  withoutSignatures,
} from '../../support/main-job.ts'
import { startPlatformHere, waitFor, type PlatformHere } from '../../support/platform.ts'

let platform: PlatformHere
let api: ApiClient
let receiver: WebhookReceiver
let patientId: string

beforeAll(async () => {
  // The provider may take longer than an assessment waits.
  const env = { ASSESSMENT_DEADLINE_SECONDS: '2', PROVIDER_RESULT_BACKOFF_SCHEDULE_MS: '500' }
  platform = await startPlatformHere({ env })
  api = await platform.connect()
  patientId = await consentedPatient(api, await createConsentTerms(api, platform.process.credentials.org_id))
  receiver = await startWebhookReceiver()
  await subscribeToEnds(api, receiver)
})

afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

test('an assessment ends at its deadline, and a review that completes later does not change it', async () => {
  const photo = await photograph()
  await platform.provider.result({ sha256: photo.sha256, not_ready_polls: 9 })
  const id = await requestAssessment(api, assessmentBody(patientId, [photo]))
  const ended = await endOf(api, id)
  expect(ended).toMatchObject({ status: 'failed', result: null, error: { code: 'ANALYSIS_TIMEOUT', retriable: true } })
  await webhookAbout(receiver, id)

  const caseId = textAt(ended, 'case_id')
  const review = await waitFor('a review that is completed', async () => {
    const found = await reviewOfCase(api, caseId)
    return at(found, 'status') === 'completed' ? found : undefined
  })
  expect(review).toMatchObject({ attemptCount: 10, error: null })
  // A whole run of another assessment gives enough time for a wrong second webhook.
  await webhookAbout(receiver, await requestAssessment(api, assessmentBody(patientId, [await photograph()])))
  const { body } = await expecting(200, api.call(`/v1/clinical-api/assessments/${id}`))
  expect(withoutSignatures(body)).toEqual(withoutSignatures(ended))
  expect(webhooksAbout(receiver, id)).toHaveLength(1)
})
