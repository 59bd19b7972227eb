import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  requestAssessment,
  reviewOfCase,
} from '../../support/main-job.ts'
import { startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import {
  cases,
  ended,
  lesions,
  listed,
  statusesOf,
  superseded,
  supersededOf,
  type FindingSource,
  type Job,
} from '../main-job/finding-jobs.ts'
import { eventsOf } from './recorded-events.ts'

let platform: TestPlatform
let api: ApiClient
let patientId: string
let source: FindingSource

beforeAll(async () => {
  platform = await startTestPlatform({ env: { STEP_TIMEOUT_MS: '3500', STEP_LEASE_MS: '4000' } })
  api = await platform.connect()
  patientId = await consentedPatient(api, await createConsentTerms(api, platform.process.credentials.org_id))
  source = { platform, api, patientId }
})
beforeEach(() => platform.provider.reset())
afterAll(() => platform.stop())

describe('a platform killed', () => {
  /** Number of events of each type in the stream of a case. */
  async function factsOf(caseId: string) {
    const { org_id: orgId, eventstore_url: url } = platform.process.credentials
    const types = (await eventsOf(url ?? '', `case-${orgId}-${caseId}`)).map(({ type }) => type)
    return Object.fromEntries([...new Set(types)].map((type) => [type, types.filter((other) => other === type).length]))
  }
  const recorded = { CaseOpened: 1, CaseFindingRecorded: 2, CaseDiagnosisRecorded: 2 }
  let job: Job

  test.each(['findings-due', 'findings-recorded'])(
    'between the end of a review and its effects (%s) records each finding once',
    async (place) => {
      const photo = await photograph()
      await platform.restart({ FAILPOINT: place })
      await platform.provider.result({ sha256: photo.sha256, lesions })
      const assessmentId = await requestAssessment(api, assessmentBody(patientId, [photo]))
      expect(await platform.process.exited).toBeNull()
      await platform.restart({ FAILPOINT: '' })
      const record = await endOf(api, assessmentId)
      const caseId = textAt(record, 'case_id')
      expect(statusesOf(await listed(api, caseId, 'diagnoses', 2))).toEqual(['active', 'active'])
      job = { record, caseId, review: await reviewOfCase(api, caseId), bodySiteId: '' }
      // A whole run of another assessment gives enough time for a wrong second finding.
      await listed(api, (await ended(source)).caseId, 'diagnoses', 2)
      expect(await factsOf(caseId)).toEqual(recorded)
    },
  )

  test('after the diagnoses of a superseded review are superseded, does not supersede them again', async () => {
    await platform.restart({ FAILPOINT: 'diagnoses-superseded' })
    // The answer may be lost with the platform.
    await superseded(api, job).catch(() => undefined)
    expect(await platform.process.exited).toBeNull()
    await platform.restart({ FAILPOINT: '' })
    // The simulator invents the lesions of the new review: one or two.
    const statuses = await waitFor('the diagnoses of the successor', async () => {
      const found: unknown = at(await reviewOfCase(api, job.caseId), 'lesions', 'length')
      const lesions = typeof found === 'number' ? found : 0
      const { body } = await expecting(200, api.call(`${cases}/${job.caseId}/diagnoses`))
      const shown = statusesOf(at(body, 'data') as readonly unknown[])
      return lesions > 0 && shown.length === 2 + lesions && supersededOf(shown) === 2 ? shown : undefined
    })
    expect(statuses.slice(0, 2)).toEqual(['superseded', 'superseded'])
    await listed(api, (await ended(source)).caseId, 'diagnoses', 2)
    const count = statuses.length
    expect(await factsOf(job.caseId)).toEqual({
      CaseOpened: 1,
      CaseFindingRecorded: count,
      CaseDiagnosisRecorded: count,
      CaseDiagnosisSuperseded: 2,
    })
  })
})
