import { v5 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { at, textAt, type ApiClient } from '../../../app/demo/api-client.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
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
import { clientOf, startTestPlatform, waitFor, type TestPlatform } from '../../support/platform.ts'
import { eventsOf } from '../bad-days/recorded-events.ts'

// Several starts in one test, on a busy machine.
vi.setConfig({ testTimeout: 240_000 })

let platform: TestPlatform
let watched: WatchedPlatform
let api: ApiClient
let patientId: string

const cases = '/v1/clinical-api/cases'
const unknownId = '0190b0a0-0000-7000-8000-000000000001'
/** Two lesions. The second one has nothing that could be coded. */
const lesions = [
  { classification: 'MEL' },
  {
    classification: 'NV',
    suspectedDiagnosisIcd10Code: null,
    suspectedDiagnosisIcd10Term: null,
    suspectedDiagnosisSnomedCode: null,
    suspectedDiagnosisSnomedTerm: null,
  },
]

beforeAll(async () => {
  platform = await startTestPlatform({ env: { STEP_TIMEOUT_MS: '3500', STEP_LEASE_MS: '4000' } })
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  patientId = await consentedPatient(api, await createConsentTerms(api, platform.process.credentials.org_id))
})
beforeEach(() => platform.provider.reset())
afterAll(() => platform.stop())

interface Job {
  readonly record: unknown
  readonly caseId: string
  readonly review: unknown
  readonly bodySiteId: string
}

/** A completed assessment with these lesions from the provider. */
async function ended(found: Readonly<Record<string, unknown>> = { lesions }): Promise<Job> {
  const photo = await photograph()
  const sites = (await expecting(200, api.call('/v1/clinical-api/body-sites?limit=2'))).body
  const bodySiteId = textAt(sites, 'data', 1, 'id')
  await platform.provider.result({ sha256: photo.sha256, ...found })
  const body = { ...assessmentBody(patientId, [photo]), finding: { finding_type: 'lesion', body_site_id: bodySiteId } }
  const record = await endOf(api, await requestAssessment(api, body))
  const caseId = textAt(record, 'case_id')
  return { record, caseId, review: await reviewOfCase(api, caseId), bodySiteId }
}

/** The list of a case, when it has so many items. */
function listed(
  caseId: string,
  what: 'findings' | 'diagnoses',
  count: number,
  client = api,
): Promise<readonly unknown[]> {
  return waitFor(`${count} ${what} of case ${caseId}`, async () => {
    const { body } = await expecting(200, client.call(`${cases}/${caseId}/${what}`))
    const data: unknown = at(body, 'data')
    return Array.isArray(data) && data.length === count ? data : undefined
  })
}

/** Supersedes the review of a completed assessment. Returns the id of the new review. */
async function superseded({ record, review }: Job): Promise<string> {
  const presignedUrlExpiresAt = new Date(Date.now() + 60_000).toISOString()
  const image = {
    imageId: textAt(record, 'images', 0, 'id'),
    imageType: 'DERMOSCOPIC',
    presignedUrl: textAt(record, 'images', 0, 'download_url'),
    presignedUrlExpiresAt,
  }
  const made = await expecting(
    202,
    api.call(`/v1/ai-reviews/${textAt(review, 'id')}/supersede`, { body: { images: [image] } }),
  )
  return textAt(made.body, 'aiReviewId')
}

const supersededOf = (statuses: readonly unknown[]) => statuses.filter((status) => status === 'superseded').length
const statusesOf = (diagnoses: readonly unknown[]) => diagnoses.map((diagnosis) => at(diagnosis, 'status'))

describe('a completed review', () => {
  test('leads to one finding for each lesion, and one diagnosis for each finding', async () => {
    const { record, caseId, review, bodySiteId } = await ended()
    const aiReviewId = textAt(review, 'id')
    const [findings, diagnoses] = [await listed(caseId, 'findings', 2), await listed(caseId, 'diagnoses', 2)]
    const outcome = at(record, 'result', 'outcome')
    const created_at = textAt(findings, 0, 'created_at')
    const ids = [1, 2].map((number) => v5(String(number), aiReviewId))
    expect(findings).toEqual(
      [0, 1].map((index) => ({
        id: ids[index],
        case_id: caseId,
        source: 'ai',
        ai_review_id: aiReviewId,
        lesion_number: index + 1,
        body_site_id: bodySiteId,
        coordinates: at(review, 'lesions', index, 'coordinates'),
        created_at,
      })),
    )
    expect(at(findings, 0, 'coordinates')).toMatchObject({ x1: expect.any(Number), y2: expect.any(Number) })
    expect(diagnoses).toEqual(
      [0, 1].map((index) => ({
        id: v5('diagnosis', ids[index] ?? ''),
        finding_id: ids[index],
        source: 'ai',
        task_id: null,
        status: 'active',
        icd10: at(outcome, 'lesions', index, 'icd10'),
        snomed: at(outcome, 'lesions', index, 'snomed'),
        category: at(outcome, 'lesions', index, 'category'),
        created_at,
      })),
    )
    expect(at(diagnoses, 0, 'icd10', 'code')).toBe('C43.9')
    expect(at(diagnoses, 1, 'icd10')).toEqual({ code: null, term: null })
  })

  test('changes the case, also in the list', async () => {
    const { caseId } = await ended()
    await listed(caseId, 'diagnoses', 2)
    const { body, headers } = await expecting(200, api.call(`${cases}/${caseId}`))
    expect(headers.get('etag')).toBe('"4"')
    expect(Date.parse(textAt(body, 'updated_at'))).toBeGreaterThan(Date.parse(textAt(body, 'created_at')))
    const own = await expecting(200, api.call(`${cases}?patient_id=${patientId}&limit=1`))
    expect(at(own.body, 'data')).toEqual([body])
    expect(at((await expecting(200, api.call(`${cases}?patient_id=${unknownId}`))).body, 'data')).toEqual([])
    expect(at((await expecting(200, api.call(cases))).body, 'data', 0)).toEqual(body)
  })

  test('of unsuitable images leads to findings, although its assessment fails', async () => {
    const { record, caseId } = await ended({
      image_quality: 'IMAGE_QUALITY_UNSUITABLE',
      lesions: [{ classification: 'NV' }],
    })
    expect(at(record, 'error', 'code')).toBe('IMAGE_QUALITY_INSUFFICIENT')
    await listed(caseId, 'findings', 1)
    expect(statusesOf(await listed(caseId, 'diagnoses', 1))).toEqual(['active'])
  })
})

test('a completed review that is superseded keeps its findings; its diagnoses are superseded by those of its successor', async () => {
  const job = await ended()
  const before = await listed(job.caseId, 'diagnoses', 2)
  const successor = await superseded(job)
  const findings = await listed(job.caseId, 'findings', 4)
  const diagnoses = await waitFor('two superseded diagnoses', async () => {
    const found = await listed(job.caseId, 'diagnoses', 4)
    return supersededOf(statusesOf(found)) === 2 ? found : undefined
  })
  expect(findings.map((finding) => at(finding, 'ai_review_id'))).toEqual([
    ...Array<unknown>(2).fill(at(job.review, 'id')),
    successor,
    successor,
  ])
  expect(diagnoses.slice(0, 2)).toEqual(before.map((diagnosis) => ({ ...Object(diagnosis), status: 'superseded' })))
  expect(statusesOf(diagnoses)).toEqual(['superseded', 'superseded', 'active', 'active'])
  expect(
    (await expecting(200, api.call(`/v1/clinical-api/assessments/${textAt(job.record, 'id')}`))).body,
  ).toMatchObject({ status: 'completed', result: at(job.record, 'result') })

  for (const [what, all] of [
    ['findings', findings],
    ['diagnoses', diagnoses],
  ] as const) {
    const pages: unknown[] = []
    for (let cursor: unknown = ''; typeof cursor === 'string';) {
      const { body } = await expecting(
        200,
        api.call(`${cases}/${job.caseId}/${what}?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`),
      )
      pages.push(at(body, 'data', 0))
      cursor = at(body, 'next_cursor')
    }
    expect(pages).toEqual(all)
  }
})

test('a review that is cancelled leads to no finding', async () => {
  const photo = await photograph()
  await platform.provider.result({ sha256: photo.sha256, not_ready_polls: 1_000_000 })
  const { body } = await expecting(
    202,
    api.call('/v1/clinical-api/assessments', { body: assessmentBody(patientId, [photo]) }),
  )
  const caseId = textAt(body, 'case_id')
  await expecting(
    200,
    api.call(`/v1/ai-reviews/${textAt(await reviewOfCase(api, caseId), 'id')}/cancel`, { method: 'POST' }),
  )
  expect(at(await endOf(api, textAt(body, 'id')), 'error', 'code')).toBe('CANCELLED')
  // The findings of another review give enough time.
  await listed((await ended()).caseId, 'diagnoses', 2)
  for (const what of ['findings', 'diagnoses']) {
    expect((await expecting(200, api.call(`${cases}/${caseId}/${what}`))).body).toEqual({
      data: [],
      next_cursor: null,
      has_more: false,
    })
  }
})

test('findings and diagnoses of another organisation, and of no case, are not found', async () => {
  const { caseId } = await ended()
  await listed(caseId, 'findings', 2)
  const stranger = watched.watch(await platform.connect(clientOf(platform.process, 1)))
  for (const what of ['findings', 'diagnoses']) {
    for (const [client, id] of [
      [stranger, caseId],
      [api, unknownId],
    ] as const) {
      const refused = await client.call(`${cases}/${id}/${what}`)
      expect([refused.status, at(refused.body, 'code')]).toEqual([404, 'not-found'])
    }
  }
  expect(at((await expecting(200, stranger.call(`${cases}?patient_id=${patientId}`))).body, 'data')).toEqual([])
})

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
      expect(statusesOf(await listed(caseId, 'diagnoses', 2))).toEqual(['active', 'active'])
      job = { record, caseId, review: await reviewOfCase(api, caseId), bodySiteId: '' }
      // A whole run of another assessment gives enough time for a wrong second finding.
      await listed((await ended()).caseId, 'diagnoses', 2)
      expect(await factsOf(caseId)).toEqual(recorded)
    },
  )

  test('after the diagnoses of a superseded review are superseded, does not supersede them again', async () => {
    await platform.restart({ FAILPOINT: 'diagnoses-superseded' })
    // The answer may be lost with the platform.
    await superseded(job).catch(() => undefined)
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
    await listed((await ended()).caseId, 'diagnoses', 2)
    const count = statuses.length
    expect(await factsOf(job.caseId)).toEqual({
      CaseOpened: 1,
      CaseFindingRecorded: count,
      CaseDiagnosisRecorded: count,
      CaseDiagnosisSuperseded: 2,
    })
  })
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toEqual(
    expect.arrayContaining(['listCases 200', 'listFindings 404', 'listDiagnoses 404']),
  )
  expect(await watched.undocumented()).toEqual([])
})
