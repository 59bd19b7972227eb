import { v5 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { at, textAt } from '../../../app/demo/members.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../../app/demo/webhook-receiver.ts'
import type { ApiClient } from '../../support/raw-api.ts'
import { watchPlatform, type WatchedPlatform } from '../../support/documented-answers.ts'
import {
  assessmentBody,
  consentedPatient,
  createConsentTerms,
  endOf,
  expecting,
  photograph,
  reviewOfCase,
  subscribeToEnds,
  webhookAbout,
  webhooksAbout,
} from '../../support/main-job.ts'
import { clientOf, waitFor, type PlatformInUse } from '../../support/platform.ts'
import { joinSharedPlatform } from '../../support/shared-platform.ts'
import { cases, ended, lesions, listed, statusesOf, superseded, supersededOf, type Job } from './finding-jobs.ts'

let platform: PlatformInUse
let watched: WatchedPlatform
let api: ApiClient
let patientId: string
let receiver: WebhookReceiver

const unknownId = '0190b0a0-0000-7000-8000-000000000001'

beforeAll(async () => {
  platform = await joinSharedPlatform()
  watched = watchPlatform(platform.baseUrl)
  api = watched.watch(await platform.connect())
  receiver = await startWebhookReceiver()
  await subscribeToEnds(api, receiver)
  patientId = await consentedPatient(api, await createConsentTerms(api, platform.process.credentials.org_id))
})
beforeEach(() => platform.provider.reset())
afterAll(async () => {
  await platform.stop()
  await receiver.close()
})

const job = (found?: Readonly<Record<string, unknown>>) => ended({ platform, api, patientId }, found)

describe('a completed review', () => {
  let made: Job
  let successor: string
  beforeAll(async () => {
    made = await job()
  })

  test('leads to one finding for each lesion, and one diagnosis for each finding, which change the case', async () => {
    const { record, caseId, review, bodySiteId } = made
    const aiReviewId = textAt(review, 'id')
    const [findings, diagnoses] = [await listed(api, caseId, 'findings', 2), await listed(api, caseId, 'diagnoses', 2)]
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

    const { body, headers } = await expecting(200, api.call(`${cases}/${caseId}`))
    expect(headers.get('etag')).toBe('"4"')
    expect(Date.parse(textAt(body, 'updated_at'))).toBeGreaterThan(Date.parse(textAt(body, 'created_at')))
    const own = await expecting(200, api.call(`${cases}?patient_id=${patientId}&limit=1`))
    expect(at(own.body, 'data')).toEqual([body])
    expect(at((await expecting(200, api.call(`${cases}?patient_id=${unknownId}`))).body, 'data')).toEqual([])
    expect(at((await expecting(200, api.call(cases))).body, 'data', 0)).toEqual(body)
  })

  test('that is superseded keeps its findings; its diagnoses are superseded by those of its successor', async () => {
    const before = await listed(api, made.caseId, 'diagnoses', 2)
    await platform.provider.result({ sha256: '*', lesions })
    // With the same addresses as the first review.
    successor = await superseded(api, made)
    const findings = await listed(api, made.caseId, 'findings', 4)
    const diagnoses = await waitFor('two superseded diagnoses', async () => {
      const found = await listed(api, made.caseId, 'diagnoses', 4)
      return supersededOf(statusesOf(found)) === 2 ? found : undefined
    })
    expect(findings.map((finding) => at(finding, 'ai_review_id'))).toEqual([
      ...Array<unknown>(2).fill(at(made.review, 'id')),
      successor,
      successor,
    ])
    expect(diagnoses.slice(0, 2)).toEqual(before.map((diagnosis) => ({ ...Object(diagnosis), status: 'superseded' })))
    expect(statusesOf(diagnoses)).toEqual(['superseded', 'superseded', 'active', 'active'])
    for (const [what, all] of [
      ['findings', findings],
      ['diagnoses', diagnoses],
    ] as const) {
      const pages: unknown[] = []
      for (let cursor: unknown = ''; typeof cursor === 'string';) {
        const { body } = await expecting(
          200,
          api.call(`${cases}/${made.caseId}/${what}?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`),
        )
        pages.push(at(body, 'data', 0))
        cursor = at(body, 'next_cursor')
      }
      expect(pages).toEqual(all)
    }
  })

  test('that is superseded leaves its assessment completed, with one webhook', async () => {
    const path = `/v1/clinical-api/assessments/${textAt(made.record, 'id')}`
    const { body: record } = await expecting(200, api.call(path))
    expect(record).toMatchObject({ status: 'completed', result: at(made.record, 'result') })
    const { body } = await expecting(200, api.call(`/v1/ai-reviews/${textAt(made.review, 'id')}`))
    expect(body).toMatchObject({ status: 'superseded', supersededById: successor, result: expect.anything() })
    await webhookAbout(receiver, textAt(made.record, 'id'))
    expect(webhooksAbout(receiver, textAt(made.record, 'id'))).toHaveLength(1)
  })

  test('of another organisation, and of no case, has findings and diagnoses that are not found', async () => {
    const stranger = watched.watch(await platform.connect(clientOf(platform.process, 1)))
    for (const what of ['findings', 'diagnoses']) {
      for (const [client, id] of [
        [stranger, made.caseId],
        [api, unknownId],
      ] as const) {
        const refused = await client.call(`${cases}/${id}/${what}`)
        expect([refused.status, at(refused.body, 'code')]).toEqual([404, 'not-found'])
      }
    }
    expect(at((await expecting(200, stranger.call(`${cases}?patient_id=${patientId}`))).body, 'data')).toEqual([])
  })
})

test('a review of unsuitable images leads to findings, although its assessment fails; a cancelled one leads to none', async () => {
  const photo = await photograph()
  await platform.provider.result({ sha256: photo.sha256, not_ready_polls: 1_000_000 })
  const sent = { body: assessmentBody(patientId, [photo]) }
  const { body } = await expecting(202, api.call('/v1/clinical-api/assessments', sent))
  const cancelled = textAt(body, 'case_id')
  const { id: reviewId } = await reviewOfCase(api, cancelled)
  await expecting(200, api.call(`/v1/ai-reviews/${reviewId}/cancel`, { method: 'POST' }))
  expect(at(await endOf(api, textAt(body, 'id')), 'error', 'code')).toBe('CANCELLED')

  const { record, caseId } = await job({
    image_quality: 'IMAGE_QUALITY_UNSUITABLE',
    lesions: [{ classification: 'NV' }],
  })
  expect(at(record, 'error', 'code')).toBe('IMAGE_QUALITY_INSUFFICIENT')
  await listed(api, caseId, 'findings', 1)
  expect(statusesOf(await listed(api, caseId, 'diagnoses', 1))).toEqual(['active'])
  // The findings of the later review gave enough time.
  for (const what of ['findings', 'diagnoses']) {
    expect((await expecting(200, api.call(`${cases}/${cancelled}/${what}`))).body).toEqual({
      data: [],
      next_cursor: null,
      has_more: false,
    })
  }
})

test('every answer is documented', async () => {
  expect(await watched.seen()).toEqual(
    expect.arrayContaining(['listCases 200', 'listFindings 404', 'listDiagnoses 404']),
  )
  expect(await watched.undocumented()).toEqual([])
})
