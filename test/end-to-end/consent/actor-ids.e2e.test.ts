import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { assessmentBody, endOf, expecting, photograph } from '../../support/main-job.ts'
import { type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import { eventsOf } from '../bad-days/recorded-events.ts'

const userId = 'jane.canary@clinic.test'

let platform: PlatformInUse
let api: ApiClient

beforeAll(async () => {
  platform = await joinSharedPlatform()
  api = await platform.connect()
})
afterAll(() => platform.stop())

function headersOf(orgId: string): Readonly<Record<string, string>> {
  const claims = { user_id: userId, org_id: orgId, permissions: ['consents:admin'] }
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return { 'x-actor-context': `${part({ alg: 'none' })}.${part(claims)}.` }
}

test('a user id that is an e-mail address is in no event, and the consent still names the user', async () => {
  const { org_id: orgId, eventstore_url: url } = platform.process.credentials
  const headers = headersOf(orgId)
  const post = async (path: string, body: unknown) => await api.call(path, { body, headers })
  const type = { code: 'ai_analysis', displayName: 'Automated analysis', legalBasis: 'consent', required: true }
  const typeId = textAt((await expecting(201, post('/v1/admin/consent-types', type))).body, 'id')
  const version = await expecting(
    201,
    post(`/v1/admin/consent-types/${typeId}/text-versions`, { locale: 'en-GB', text: 'I agree.' }),
  )
  const patient = await expecting(
    201,
    post('/v1/clinical-api/patients', { given_name: 'Ada', family_name: 'Example', dob: '1980-02-29' }),
  )
  const patientId = textAt(patient.body, 'id')
  const decision = { consent_type_id: typeId, text_version_id: textAt(version.body, 'id'), decision: 'denied' }
  const recorded = await expecting(201, post(`/v1/patients/${patientId}/consents`, decision))
  expect(at(recorded.body, 'recorded_by')).toBe(userId)
  const body = assessmentBody(patientId, [await photograph()])
  const requested = await expecting(202, post('/v1/clinical-api/assessments', body))
  const assessmentId = textAt(requested.body, 'id')
  await endOf(api, assessmentId)

  const streams = [
    `consent_type-${orgId}-${typeId}`,
    `patient-${orgId}-${patientId}`,
    `consent-${orgId}-${patientId}`,
    `assessment-${orgId}-${assessmentId}`,
    `case-${orgId}-${textAt(requested.body, 'case_id')}`,
    ...['assessment', 'clinical', 'consent'].map((name) => `${name}.events`),
  ]
  const all = (await Promise.all(streams.map((stream) => eventsOf(url ?? '', stream)))).flat()
  expect(all.filter((event) => /canary|clinic\.test/i.test(JSON.stringify(event))).map(({ type }) => type)).toEqual([])
  const written = [
    'ConsentTypeCreated',
    'ConsentTextVersionPublished',
    'PatientRegistered',
    'ConsentRecorded',
    'AssessmentRequested',
  ]
  const userIds = all.filter(({ type }) => written.includes(type)).map(({ metadata }) => at(metadata, 'userId'))
  expect(userIds).toHaveLength(written.length)
  expect(new Set(userIds).size).toBe(1)
  expect(userIds[0]).toMatch(/^[0-9a-f]{64}$/)
})
