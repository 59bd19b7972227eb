import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, type ApiClient } from '../../../platform/demo/api-client.ts'
import { assessmentBody, consentedPatient, createConsentTerms, endOf, photograph, requestAssessment } from '../../support/main-job.ts'
import { startTestPlatform, type TestPlatform } from '../../support/platform.ts'

let platform: TestPlatform
let api: ApiClient

beforeAll(async () => {
  platform = await startTestPlatform()
  api = await platform.connect()
})
afterAll(() => platform.stop())

test('an assessment of a consented patient is completed', async () => {
  const terms = await createConsentTerms(api, platform.process.credentials.org_id)
  const photo = await photograph()
  const id = await requestAssessment(api, assessmentBody(await consentedPatient(api, terms), [photo]))
  expect(at(await endOf(api, id), 'status')).toBe('completed')
  expect(await platform.provider.story()).toEqual(['login 200', 'case 200', 'image 200', 'process 200', 'result 200'])
})
