import { describe, expect, it } from 'vitest'
import {
  assessmentPassage,
  reviewPassage,
  taskPassage,
  type Fact,
  type Passage,
  type Sending,
} from '../../../app/operations/subject-stages.ts'

const at = (second: number) => `2026-11-29T00:00:${String(second).padStart(2, '0')}.000Z`

type Given = readonly [type: string, data?: object]

/** One event a second. */
function facts(...events: readonly Given[]): Fact[] {
  return events.map(([type, data = {}], second) => ({
    id: `event ${second}`,
    type,
    stream: 'stream',
    occurredAt: at(second),
    data: { ...(type.startsWith('AiReview') ? { aiReviewId: 'review' } : {}), ...data },
  }))
}

const own = { assessmentId: 'assessment' }
const requested = ['AssessmentRequested', { ...own, productId: 'product' }] as const
const submitted = ['AssessmentSubmitted', own] as const
const reviewRequested = ['AiReviewRequested', { productId: 'product' }] as const
const call = (name: string, checkedAt: string | null = null) =>
  ['AiReviewCallAttempted', { call: name, consentCheckedAt: checkedAt }] as const

const ofAssessment = (events: readonly Fact[], sendings: readonly Sending[] = []) =>
  assessmentPassage({ id: 'assessment', facts: events, sendings, isHumanReviewDue: false })
const shown = (passage: Passage | undefined) =>
  Object.fromEntries(
    (passage?.stages ?? []).map(({ name, status, error }) => [
      name,
      error === null ? status : `${status} ${error.code}`,
    ]),
  )

describe('the stages of an assessment', () => {
  it('show the provider that failed for now, and the tries', () => {
    const passage = ofAssessment(
      facts(requested, submitted, reviewRequested, ['AiReviewStarted'], call('case', at(3)), [
        'AiReviewStartDeferred',
        { classification: 'provider_upstream_transient', upstreamStatus: 503 },
      ]),
    )
    expect(passage).toMatchObject({ status: 'processing', errorCode: null, createdAt: at(0), endedAt: null })
    expect(shown(passage)).toMatchObject({
      consent: 'done',
      provider: 'running 503',
      result: 'waiting',
      findings: 'waiting',
    })
    expect(passage?.stages[3]).toMatchObject({ started_at: at(4), ended_at: null, attempts: 1 })
  })

  it('show that a call waits for a system that is away, and that a result is not ready yet', () => {
    const accepted = facts(requested, submitted, reviewRequested, ['AiReviewStarted'], call('process', at(3)), [
      'AiReviewProcessingAccepted',
    ])
    const later = (...events: readonly Given[]) => [...accepted, ...facts(...events)]
    const polled = later(call('result'), ['AiReviewPollDeferred', { upstreamStatus: null, answered: { status: 200 } }])
    expect(shown(ofAssessment(polled))).toMatchObject({ provider: 'done', result: 'running' })
    const unready = later(call('result'), ['AiReviewPollDeferred', { upstreamStatus: 502, answered: { status: 502 } }])
    expect(shown(ofAssessment(unready))).toMatchObject({ provider: 'done', result: 'running 502' })
    const postponed = later(['AiReviewCallPostponed', { call: 'result' }])
    expect(shown(ofAssessment(postponed))).toMatchObject({ result: 'running circuit_open' })
  })

  it('fail where the assessment stopped', () => {
    const expired = facts(
      requested,
      ['AssessmentUploadsAwaited', own],
      ['AssessmentFailed', { ...own, code: 'UPLOAD_WINDOW_EXPIRED' }],
    )
    expect(shown(ofAssessment(expired))).toMatchObject({
      accepted: 'done',
      images: 'failed UPLOAD_WINDOW_EXPIRED',
      consent: 'skipped',
      webhooks: 'skipped',
    })
    const late = facts(requested, submitted, reviewRequested, ['AiReviewStarted'], call('case', at(3)), [
      'AssessmentFailed',
      { ...own, code: 'ANALYSIS_TIMEOUT' },
    ])
    expect(ofAssessment(late)).toMatchObject({ status: 'failed', errorCode: 'ANALYSIS_TIMEOUT', endedAt: at(5) })
    expect(shown(ofAssessment(late))).toMatchObject({
      provider: 'failed ANALYSIS_TIMEOUT',
      result: 'skipped',
      findings: 'skipped',
    })
    const refused = facts(
      requested,
      submitted,
      reviewRequested,
      ['AiReviewStarted'],
      call('process', at(3)),
      ['AiReviewProcessingAccepted'],
      ['AiReviewFailed', { classification: 'provider_processing_failed', upstreamStatus: null }],
      ['AssessmentFailed', { ...own, code: 'ANALYSIS_FAILED' }],
    )
    expect(shown(ofAssessment(refused))).toMatchObject({
      provider: 'done',
      result: 'failed provider_processing_failed',
    })
  })

  it('count the review that replaced another one, and skip what it did not find', () => {
    const passage = ofAssessment([
      ...facts(requested, submitted, reviewRequested, ['AiReviewFailed', { classification: 'image_fetch_failed' }]),
      ...facts(
        ['AiReviewRequested', { productId: 'product', aiReviewId: 'second' }],
        ['AiReviewCompleted', { aiReviewId: 'second', lesionCount: 2, lesions: [] }],
      ),
      ...facts(['AssessmentCompleted', own]),
    ])
    expect(passage?.status).toBe('completed')
    expect(shown(passage)).toMatchObject({ result: 'done', findings: 'skipped', human_review: 'skipped' })
  })

  it('have one stage for several webhooks', () => {
    const sending = (changes: Partial<Sending>): Sending => ({
      kind: 'delivery',
      id: 'delivery',
      status: 'delivered',
      createdAt: at(1),
      endedAt: at(2),
      attempts: 1,
      error: null,
      ...changes,
    })
    const error = { class: 'attempt_failed', code: '500', host: 'receiver.test' }
    const waiting = sending({ status: 'pending', endedAt: null, attempts: 0 })
    const trying = sending({ status: 'pending', endedAt: null, error })
    const failed = sending({ status: 'failed', attempts: 3, endedAt: at(9), error })
    const ended = facts(requested, submitted, ['AssessmentCompleted', own])
    const webhooks = (...sendings: readonly Sending[]) => ofAssessment(ended, sendings)?.stages.at(-2)
    expect(webhooks(sending({}), waiting)).toMatchObject({ status: 'waiting', started_at: at(1), ended_at: null })
    expect(webhooks(sending({}), trying)).toMatchObject({ status: 'running', attempts: 2, error })
    expect(webhooks(sending({}), failed)).toMatchObject({ status: 'failed', attempts: 4, ended_at: at(9), error })
    expect(webhooks(sending({ status: 'cancelled' }))).toMatchObject({ status: 'skipped' })
    expect(webhooks(sending({}))).toMatchObject({ status: 'done', ended_at: at(2) })
  })
})

it('a review whose consent was withdrawn failed there', () => {
  const passage = reviewPassage(
    facts(reviewRequested, ['AiReviewStarted'], call('case', at(1)), [
      'AiReviewCancelled',
      { reason: 'consent_withdrawn' },
    ]),
  )
  expect(passage).toMatchObject({ status: 'cancelled', errorCode: 'consent_withdrawn' })
  expect(shown(passage)).toEqual({
    accepted: 'done',
    consent: 'failed consent_withdrawn',
    provider: 'skipped',
    result: 'skipped',
  })
})

it('a task is opened, judged and decided', () => {
  const opened = ['HumanReviewTaskOpened'] as const
  const claimed = ['HumanReviewTaskClaimed'] as const
  expect(taskPassage(facts(['HumanReviewNotSelected']))).toBeUndefined()
  expect(shown(taskPassage(facts(opened)))).toEqual({ opened: 'done', opinions: 'waiting', decided: 'waiting' })
  expect(taskPassage(facts(opened, claimed))).toMatchObject({ status: 'claimed' })
  const decided = taskPassage(facts(opened, claimed, ['HumanReviewOpinionGiven'], ['HumanReviewTaskDecided']))
  expect(decided).toMatchObject({ status: 'decided', endedAt: at(3), errorCode: null })
  expect(shown(decided)).toEqual({ opened: 'done', opinions: 'done', decided: 'done' })
  const cancelled = taskPassage(facts(opened, ['HumanReviewTaskCancelled', { reason: 'superseded' }]))
  expect(cancelled).toMatchObject({ status: 'cancelled', errorCode: 'superseded' })
})
