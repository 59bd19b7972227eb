import { describe, expect, it } from 'vitest'
import { assessmentsProcess } from '../../../processes/assessments/assessments.process.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { cases } from '../../../streams/case/aggregate.ts'
import { aiReviewChannelStream } from '../../../streams/channels/ai-review.ts'
import type { AssessmentEvent } from '../../../streams/assessment/events.ts'
import { dueAt, todosAfter } from '../../support/given-process.ts'
import { recorded, type GivenEvent } from '../../support/given-projector.ts'
import { rowsInMemory } from '../../support/rows-in-memory.ts'
import { reviewPublicFact as published } from '../../streams/channel-facts.ts'
import { assessmentFact as fact, at, caseFact, ids } from '../../streams/facts.ts'

const own = (event: AssessmentEvent) => ({ ...event, stream: assessments.of(ids.org, ids.assessment).stream })
const channel = (event: GivenEvent): GivenEvent => ({ ...event, stream: aiReviewChannelStream.name })

const submitted = own(fact('AssessmentSubmitted'))
const requested = own(fact('AssessmentRequested'))
const awaited = own(fact('AssessmentUploadsAwaited'))
const asked = fact('AssessmentReviewRequested')
const reviewRequested = own(asked)

/** The steps of an assessment that was requested, after more events. */
function steps(...given: GivenEvent[]) {
  return todosAfter(assessmentsProcess, recorded([requested, ...given])).map(({ key, step, orgId, dueAt: due }) => ({
    key,
    step,
    orgId,
    due: due.toISOString(),
  }))
}

const todo = (step: string, due: string) => ({ key: ids.assessment, step, orgId: ids.org, due })
const expiry = todo('expire', at(3600))

describe('the due steps of an assessment', () => {
  it('are none before it is submitted', () => {
    expect(steps()).toEqual([])
  })

  it('are its expiry at the end of the upload window while its uploads are awaited', () => {
    const closing = todo('close-uploads', at(86_400))
    expect(steps(awaited)).toEqual([closing])
    expect(steps(awaited, submitted)).toEqual([expiry, todo('request-review', at(2))])
    expect(steps(awaited, own(fact('AssessmentFailed', { aiReviewId: null, code: 'UPLOAD_WINDOW_EXPIRED' })))).toEqual(
      [],
    )
  })

  it('are a review in case the route requested none, and its expiry at the deadline, once it is submitted', () => {
    expect(steps(submitted)).toEqual([expiry, todo('request-review', at(2))])
  })

  it('are only its expiry once the review is requested', () => {
    expect(steps(submitted, reviewRequested)).toEqual([expiry])
    const todos = todosAfter(assessmentsProcess, recorded([requested, submitted, reviewRequested]))
    expect(dueAt(todos, new Date(Date.parse(at(3600)) - 1))).toEqual([])
    expect(dueAt(todos, new Date(at(3600)))).toHaveLength(1)
  })

  it('are its case in case the route opened none, if the review was requested with the submission', () => {
    const atOnce = own(fact('AssessmentReviewRequested', { isCaseOpen: false }))
    const { stream } = cases.of(ids.org, ids.case)
    const opened = { ...caseFact('CaseOpened'), stream }
    const ofNoAssessment = { ...caseFact('CaseOpened', { assessmentId: null }), stream }
    expect(steps(submitted, atOnce)).toEqual([expiry, todo('open-case', at(3))])
    expect(steps(submitted, atOnce, ofNoAssessment)).toEqual([expiry, todo('open-case', at(3))])
    expect(steps(submitted, atOnce, opened)).toEqual([expiry])
    expect(steps(submitted, opened, reviewRequested)).toEqual([expiry])
  })

  it.each(['ai_review.completed', 'ai_review.failed', 'ai_review.cancelled'] as const)(
    'are its conclusion after %s',
    (type) => {
      const ended = channel(published(type))
      expect(steps(submitted, reviewRequested, ended)).toEqual([
        todo('conclude', published(type).data.occurred_at),
        expiry,
      ])
    },
  )

  it('contain the place and the cause of the channel event that ended the review', () => {
    const events = recorded([
      requested,
      submitted,
      { ...channel(published('ai_review.completed')), revision: 41n, metadata: { $correlationId: ids.event } },
    ])
    const [conclusion] = todosAfter(assessmentsProcess, events)
    expect(conclusion?.payload).toEqual({
      channelRevision: '41',
      aiReviewId: ids.review,
      cause: { eventId: events[2]?.id, correlationId: ids.event },
    })
    expect(JSON.stringify(conclusion?.payload)).not.toContain('lesions')
  })

  it('do not change with other reviews: of another case, organisation or product, or not ended', () => {
    const foreign = [
      published('ai_review.completed', { caseId: ids.event }),
      published('ai_review.completed', { orgId: ids.otherOrg }),
      published('ai_review.completed', { productId: ids.event }),
      published('ai_review.started'),
      published('ai_review.requested'),
    ]
    expect(steps(submitted, reviewRequested, ...foreign.map(channel))).toEqual([expiry])
  })

  it('are not the conclusion of a superseded review, but that of its successor', () => {
    const ofNew = { aiReviewId: ids.newReview, occurred_at: at(40) }
    const [failed, superseded] = [channel(published('ai_review.failed')), channel(published('ai_review.superseded'))]
    const completed = channel(published('ai_review.completed', ofNew))
    const conclusion = todo('conclude', at(40))
    expect(steps(submitted, reviewRequested, failed, superseded)).toEqual([expiry])
    expect(steps(submitted, reviewRequested, superseded)).toEqual([expiry])
    expect(steps(submitted, reviewRequested, failed, superseded, completed)).toEqual([conclusion, expiry])
    const renewed = own(fact('AssessmentReviewRenewed'))
    expect(steps(submitted, reviewRequested, failed, renewed)).toEqual([todo('conclude', at(9)), expiry])
    expect(steps(submitted, reviewRequested, failed, renewed, superseded, completed)).toEqual([conclusion, expiry])
  })

  it('are the conclusion of the later of two ends, in either order', () => {
    const ends = [
      channel(published('ai_review.failed')),
      channel(published('ai_review.completed', { aiReviewId: ids.newReview, occurred_at: at(40) })),
    ]
    const todos = todosAfter(assessmentsProcess, recorded([requested, submitted, reviewRequested, ...ends]))
    expect(todos.map(({ step }) => step)).toEqual(['conclude', 'expire'])
    expect(todos[0]).toMatchObject({ dueAt: new Date(at(40)), payload: { aiReviewId: ids.newReview } })
    const foreign = channel(published('ai_review.superseded', { orgId: ids.otherOrg, oldAiReviewId: ids.newReview }))
    expect(steps(submitted, reviewRequested, ...ends, foreign)).toEqual([todo('conclude', at(40)), expiry])
  })

  it('are the conclusion at once if a review of the case and product ended before, and holds its slot', () => {
    const completed = channel(published('ai_review.completed'))
    const conclusion = todo('conclude', asked.data.requestedAt)
    expect(steps(completed, submitted)).toEqual([expiry, todo('request-review', at(2))])
    expect(steps(completed, submitted, reviewRequested)).toEqual([conclusion, expiry])
    expect(steps(completed, channel(published('ai_review.superseded')), submitted, reviewRequested)).toEqual([expiry])
    const others = [{ productId: ids.event }, { caseId: ids.event }, { orgId: ids.otherOrg }]
    for (const other of others)
      expect(steps(channel(published('ai_review.completed', other)), submitted, reviewRequested)).toEqual([expiry])
  })

  it('keep an ended review until the assessment of its case requests its review, or ends', () => {
    const kept = (...given: GivenEvent[]) =>
      rowsInMemory(assessmentsProcess.list, recorded([requested, ...given]))['ended_reviews']?.map(
        ({ ai_review_id: id }) => id,
      )
    const early = channel(published('ai_review.completed'))
    const ofOtherCase = channel(published('ai_review.failed', { aiReviewId: ids.newReview, caseId: ids.event }))
    expect(kept(early, ofOtherCase, submitted)).toEqual([ids.review, ids.newReview])
    expect(kept(early, ofOtherCase, submitted, reviewRequested)).toEqual([ids.newReview])
    expect(kept(submitted, reviewRequested, early)).toEqual([ids.review])
    for (const end of [fact('AssessmentCompleted'), fact('AssessmentFailed')])
      expect(kept(submitted, reviewRequested, early, ofOtherCase, own(end))).toEqual([ids.newReview])
  })

  it.each([fact('AssessmentCompleted'), fact('AssessmentFailed')])('are none after $type', (end) => {
    expect(steps(submitted, reviewRequested, channel(published('ai_review.completed')), own(end))).toEqual([])
    expect(steps(submitted, own(end))).toEqual([])
  })

  it('are none when its review ends after the assessment', () => {
    const expired = own(fact('AssessmentFailed', { aiReviewId: null, code: 'ANALYSIS_TIMEOUT' }))
    expect(steps(submitted, reviewRequested, expired, channel(published('ai_review.completed')))).toEqual([])
  })
})
