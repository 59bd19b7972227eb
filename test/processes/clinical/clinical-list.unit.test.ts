import { describe, expect, it } from 'vitest'
import { clinicalProcess } from '../../../processes/clinical/clinical.process.ts'
import type { CaseEvent } from '../../../streams/case/events.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { aiReviewChannelStream } from '../../../streams/channels/ai-review.ts'
import { todosAfter } from '../../support/given-process.ts'
import { recorded, type GivenEvent } from '../../support/given-projector.ts'
import { rowsInMemory } from '../../support/rows-in-memory.ts'
import { lesion } from '../../streams/ai-review-facts.ts'
import { reviewPublicFact as published } from '../../streams/channel-facts.ts'
import { at, caseFact, ids } from '../../streams/facts.ts'

const own = (event: CaseEvent) => ({ ...event, stream: cases.of(ids.org, ids.case).stream })
const channel = (event: GivenEvent): GivenEvent => ({ ...event, stream: aiReviewChannelStream.name })

const lesions = [lesion, { ...lesion, lesionNumber: 2 }]
const completed = channel(published('ai_review.completed', { lesions }))
const superseded = channel(published('ai_review.superseded'))
const found = (ordinal: number) =>
  own(caseFact('CaseFindingRecorded', { lesionNumber: ordinal, ordinal, lesionCount: 2 }))
const replaced = (ordinal: number) =>
  own(caseFact('CaseDiagnosisSuperseded', { lesionNumber: ordinal, ordinal, diagnosisCount: 2 }))
const diagnosed = own(caseFact('CaseDiagnosisRecorded'))
const opened = own(caseFact('CaseOpened'))

const steps = (...given: GivenEvent[]) => stepsOf(opened, ...given)

function stepsOf(...given: GivenEvent[]) {
  return todosAfter(clinicalProcess, recorded(given)).map(({ key, step, orgId, dueAt }) => ({
    key,
    step,
    orgId,
    due: dueAt.toISOString(),
  }))
}

const record = { key: ids.review, step: 'record-findings', orgId: ids.org, due: at(18) }
const supersede = { key: ids.review, step: 'supersede-diagnoses', orgId: ids.org, due: at(15) }

describe('the due steps of a completed AI review', () => {
  it('record its findings, until the last of them is recorded', () => {
    expect(steps(completed)).toEqual([record])
    expect(steps(completed, found(1), diagnosed)).toEqual([record])
    expect(steps(completed, found(1), found(2))).toEqual([])
  })

  it('supersede its diagnoses once another review replaces it, until the last is superseded', () => {
    expect(steps(completed, found(1), found(2), superseded)).toEqual([supersede])
    expect(steps(completed, found(1), found(2), superseded, replaced(1))).toEqual([supersede])
    expect(steps(completed, found(1), found(2), superseded, replaced(1), replaced(2))).toEqual([])
  })

  it('supersede its diagnoses alone if its findings are still due, because that records them too', () => {
    expect(steps(completed, superseded)).toEqual([supersede])
    expect(steps(completed, found(1), superseded)).toEqual([supersede])
    expect(steps(completed, superseded, found(1), found(2))).toEqual([supersede])
    expect(steps(completed, superseded, found(1), found(2), replaced(1), replaced(2))).toEqual([])
  })

  it.each(['ai_review.requested', 'ai_review.started', 'ai_review.failed', 'ai_review.cancelled'] as const)(
    'are none after %s',
    (type) => {
      expect(steps(channel(published(type)))).toEqual([])
      expect(steps(channel(published(type)), superseded)).toEqual([])
    },
  )

  it('are none without a lesion, also once the review is superseded', () => {
    const empty = channel(published('ai_review.completed', { lesions: [] }))
    expect(steps(empty)).toEqual([])
    expect(steps(empty, superseded)).toEqual([])
  })

  it('are none for a review of another organisation', () => {
    const foreign = channel(published('ai_review.superseded', { orgId: ids.otherOrg }))
    expect(steps(completed, found(1), found(2), foreign)).toEqual([])
  })

  it('record the findings of its successor', () => {
    const next = channel(published('ai_review.completed', { aiReviewId: ids.newReview, occurred_at: at(40) }))
    expect(steps(completed, found(1), found(2), superseded, replaced(1), replaced(2), next)).toEqual([
      { ...record, key: ids.newReview, due: at(40) },
    ])
  })

  it('contain the place and the cause of the channel events, and no lesion', () => {
    const [, ...events] = recorded([
      opened,
      { ...completed, revision: 41n, metadata: { $correlationId: ids.event } },
      { ...superseded, revision: 52n },
    ])
    const cause = (index: number) => ({
      eventId: events[index]?.id,
      correlationId: events[index]?.metadata.$correlationId,
    })
    const payloads = todosAfter(clinicalProcess, [...recorded([opened]), ...events]).map(({ payload }) => payload)
    const recording = { cause: { eventId: events[0]?.id, correlationId: ids.event }, channelRevision: '41' }
    expect(payloads).toEqual([{ cause: cause(1), recording, supersededById: ids.newReview }])
    const afterwards = todosAfter(clinicalProcess, recorded([opened, completed, found(1), found(2), superseded]))
    expect(afterwards.map(({ payload }) => payload)).toMatchObject([{ recording: { channelRevision: '0' } }])
  })

  it('are none once clinicians have superseded all its diagnoses, also before another review replaces it', () => {
    expect(steps(completed, found(1), found(2), replaced(1), replaced(2), superseded)).toEqual([])
    expect(steps(completed, found(1), found(2), replaced(1), superseded)).toEqual([supersede])
    expect(steps(completed, found(1), found(2), replaced(1), superseded, replaced(2))).toEqual([])
  })

  it('leave no row of a superseded review', () => {
    const looked = (...given: GivenEvent[]) => rowsInMemory(clinicalProcess.list, recorded([opened, ...given]))
    const row = { ai_review_id: ids.review, is_recorded: false }
    expect(looked(completed)).toMatchObject({ analysed_reviews: [row] })
    expect(looked(completed, found(1), found(2))).toMatchObject({ analysed_reviews: [{ ...row, is_recorded: true }] })
    expect(looked(completed, superseded)).toMatchObject({ analysed_reviews: [] })
    expect(looked(completed, found(1), found(2), superseded)).toMatchObject({ analysed_reviews: [] })
  })
})

describe('the steps of a review whose case is not open', () => {
  it('are due once it opens', () => {
    expect(stepsOf(completed)).toEqual([])
    const atOpening = { ...record, due: at(0) }
    expect(stepsOf(completed, opened)).toEqual([atOpening])
    expect(stepsOf(completed, opened, superseded)).toEqual([supersede])
    expect(stepsOf(completed, opened, found(1), found(2), superseded)).toEqual([supersede])
  })

  it('are none if it never opens, as that of another service, or only after another review replaced this one', () => {
    const foreign = { ...opened, stream: cases.of(ids.otherOrg, ids.case).stream }
    expect(stepsOf(foreign, completed, superseded)).toEqual([])
    expect(stepsOf(completed, superseded, opened)).toEqual([])
  })
})
