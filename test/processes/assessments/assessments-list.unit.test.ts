import { describe, expect, it } from 'vitest'
import { assessmentsProcess } from '../../../processes/assessments/assessments.process.ts'
import { assessments } from '../../../streams/assessment/aggregate.ts'
import { aiReviewChannelStream } from '../../../streams/channels/ai-review.ts'
import type { AssessmentEvent } from '../../../streams/assessment/events.ts'
import { dueAt, todosAfter } from '../../support/given-process.ts'
import { recorded, type GivenEvent } from '../../support/given-projector.ts'
import { reviewPublicFact as published } from '../../streams/channel-facts.ts'
import { assessmentFact as fact, at, ids } from '../../streams/facts.ts'

const own = (event: AssessmentEvent) => ({ ...event, stream: assessments.of(ids.org, ids.assessment).stream })
const channel = (event: GivenEvent): GivenEvent => ({ ...event, stream: aiReviewChannelStream.name })

const submitted = own(fact('AssessmentSubmitted'))
const requested = own(fact('AssessmentRequested'))
const awaited = own(fact('AssessmentUploadsAwaited'))
const reviewRequested = own(fact('AssessmentReviewRequested'))

function steps(...given: GivenEvent[]) {
  return todosAfter(assessmentsProcess, recorded(given)).map(({ key, step, orgId, dueAt: due }) => ({
    key,
    step,
    orgId,
    due: due.toISOString(),
  }))
}

const todo = (step: string, due: string) => ({ key: ids.assessment, step, orgId: ids.org, due })
const expiry = todo('expire', at(3600))

describe('what a submitted assessment still needs', () => {
  it('is nothing before it is submitted', () => {
    expect(steps(requested)).toEqual([])
  })

  it('is, while its uploads are awaited, an end when their window closes', () => {
    const closing = todo('close-uploads', at(86_400))
    expect(steps(requested, awaited)).toEqual([closing])
    expect(steps(requested, awaited, submitted)).toEqual([expiry, todo('request-review', at(0))])
    expect(
      steps(requested, awaited, own(fact('AssessmentFailed', { aiReviewId: null, code: 'UPLOAD_WINDOW_EXPIRED' }))),
    ).toEqual([])
  })

  it('is a review at once, and an end at its deadline', () => {
    expect(steps(requested, submitted)).toEqual([expiry, todo('request-review', at(0))])
  })

  it('is only an end once the review is asked for', () => {
    expect(steps(submitted, reviewRequested)).toEqual([expiry])
    const todos = todosAfter(assessmentsProcess, recorded([submitted, reviewRequested]))
    expect(dueAt(todos, new Date(Date.parse(at(3600)) - 1))).toEqual([])
    expect(dueAt(todos, new Date(at(3600)))).toHaveLength(1)
  })

  it.each(['ai_review.completed', 'ai_review.failed', 'ai_review.cancelled'] as const)(
    'is a conclusion after %s',
    (type) => {
      const ended = channel(published(type))
      expect(steps(submitted, reviewRequested, ended)).toEqual([
        todo('conclude', published(type).data.occurred_at),
        expiry,
      ])
    },
  )

  it('names the event of the channel that ended the review, by its place and its cause', () => {
    const events = recorded([
      submitted,
      { ...channel(published('ai_review.completed')), revision: 41n, metadata: { $correlationId: ids.event } },
    ])
    const [conclusion] = todosAfter(assessmentsProcess, events)
    expect(conclusion?.payload).toEqual({
      channelRevision: '41',
      aiReviewId: ids.review,
      cause: { eventId: events[1]?.id, correlationId: ids.event },
    })
    expect(JSON.stringify(conclusion?.payload)).not.toContain('lesions')
  })

  it('is not changed by other reviews: of another case, another organisation, or not ended', () => {
    const foreign = [
      published('ai_review.completed', { caseId: ids.event }),
      published('ai_review.completed', { orgId: ids.otherOrg }),
      published('ai_review.started'),
      published('ai_review.requested'),
    ]
    expect(steps(submitted, reviewRequested, ...foreign.map(channel))).toEqual([expiry])
  })

  it('is no conclusion of a review that was superseded, but of the one that took its place (T28)', () => {
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

  it('is the conclusion of the later of two ends, whichever is worked off first', () => {
    const ends = [
      channel(published('ai_review.failed')),
      channel(published('ai_review.completed', { aiReviewId: ids.newReview, occurred_at: at(40) })),
    ]
    const todos = todosAfter(assessmentsProcess, recorded([submitted, reviewRequested, ...ends]))
    expect(todos.map(({ step }) => step)).toEqual(['conclude', 'expire'])
    expect(todos[0]).toMatchObject({ dueAt: new Date(at(40)), payload: { aiReviewId: ids.newReview } })
    const foreign = channel(published('ai_review.superseded', { orgId: ids.otherOrg, oldAiReviewId: ids.newReview }))
    expect(steps(submitted, reviewRequested, ...ends, foreign)).toEqual([todo('conclude', at(40)), expiry])
  })

  it.each([fact('AssessmentCompleted'), fact('AssessmentFailed')])('is nothing after $type', (end) => {
    expect(steps(submitted, reviewRequested, channel(published('ai_review.completed')), own(end))).toEqual([])
    expect(steps(submitted, own(end))).toEqual([])
  })

  it('is nothing when its review ends after it has ended by itself', () => {
    const expired = own(fact('AssessmentFailed', { aiReviewId: null, code: 'ANALYSIS_TIMEOUT' }))
    expect(steps(submitted, reviewRequested, expired, channel(published('ai_review.completed')))).toEqual([])
  })
})
