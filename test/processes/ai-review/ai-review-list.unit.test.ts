import { describe, expect, it } from 'vitest'
import { aiReviewProcess } from '../../../processes/ai-review/ai-review.process.ts'
import { aiReviewSlots } from '../../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import type { AiReviewSlotEvent } from '../../../streams/ai-review-slot/events.ts'
import type { AiReviewEvent } from '../../../streams/ai-review/events.ts'
import { aiReviewChannelStream } from '../../../streams/channels/ai-review.ts'
import { consentChannelStream } from '../../../streams/channels/consent.ts'
import { todosAfter } from '../../support/given-process.ts'
import { recorded, type GivenEvent } from '../../support/given-projector.ts'
import { consentPublicFact, reviewPublicFact } from '../../streams/channel-facts.ts'
import { reviewFact, slotFact } from '../../streams/ai-review-facts.ts'
import { at, ids } from '../../streams/facts.ts'
import { foreignFact, foreignRecord, ofForeignEvent } from '../../streams/foreign-facts.ts'

const asked: GivenEvent = {
  ...reviewPublicFact('ai_review.requested'),
  stream: aiReviewChannelStream.name,
  id: ids.requestEvent,
  revision: 7n,
}
const slot = (event: AiReviewSlotEvent): GivenEvent => ({
  ...event,
  stream: aiReviewSlots.of(ids.org, ids.case, ids.product).stream,
})
const review = (event: AiReviewEvent, id: string = ids.review): GivenEvent => ({
  ...event,
  data: { ...event.data, aiReviewId: id },
  stream: aiReviews.of(ids.org, id).stream,
})
const consent = (event: GivenEvent): GivenEvent => ({ ...event, stream: consentChannelStream.name })

const claimed = slot(slotFact('AiReviewSlotClaimed'))
const requested = review(reviewFact('AiReviewRequested'))
const started = review(reviewFact('AiReviewStarted'))
const caseCreated = review(reviewFact('AiReviewProviderCaseCreated'))
const accepted = review(reviewFact('AiReviewProcessingAccepted'))
const ends = [
  review(reviewFact('AiReviewCompleted')),
  review(reviewFact('AiReviewFailed')),
  review(reviewFact('AiReviewCancelled')),
  review(reviewFact('AiReviewSuperseded')),
]

function steps(...given: GivenEvent[]) {
  return todosAfter(aiReviewProcess, recorded(given)).map(({ key, step, orgId, dueAt }) => ({
    key,
    step,
    orgId,
    due: dueAt.toISOString(),
  }))
}

const todo = (step: string, due: string, key: string = ids.review) => ({ key, step, orgId: ids.org, due })

describe('a request of another service', () => {
  const received = ofForeignEvent(foreignFact('ForeignEventReceived'))
  const due = [todo('claim-foreign', at(2), foreignRecord)]

  it('takes the slot once', () => {
    expect(steps(received)).toEqual(due)
    const answered = slotFact('AiReviewRequestAnswered', { requestEventId: foreignRecord })
    expect(steps(received, slot(answered))).toEqual([])
    const taken = slotFact('AiReviewSlotClaimed', { requestEventId: foreignRecord })
    expect(steps(received, slot(taken))).toEqual([todo('open', at(4))])
  })

  it('takes nothing if it is rejected, also later, or if it is another event', () => {
    expect(steps(ofForeignEvent(foreignFact('ForeignEventRejected')))).toEqual([])
    expect(steps(received, ofForeignEvent(foreignFact('ForeignEventRejected', { reason: 'erased' })))).toEqual([])
    expect(steps(ofForeignEvent(foreignFact('ForeignEventReceived', { eventType: 'visit.booked' })))).toEqual([])
  })
})

describe('the next step of a requested review', () => {
  it('is the slot, then its first event, then its start', () => {
    expect(steps(asked)).toEqual([todo('claim', at(1), ids.requestEvent)])
    // The step that takes the slot opens the review. Another step does so only after a crash.
    expect(steps(asked, claimed)).toEqual([todo('open', at(4))])
    expect(steps(asked, claimed, requested)).toEqual([todo('start', at(2))])
  })

  it('is none when the slot was taken', () => {
    const answered = slot(slotFact('AiReviewRequestAnswered', { requestEventId: ids.requestEvent }))
    expect(steps(asked, answered)).toEqual([])
  })

  it('is its first event when a client asked for it', () => {
    expect(steps(slot(slotFact('AiReviewSlotClaimed', { requestEventId: null })))).toEqual([todo('open', at(4))])
  })

  it('is its first event when it supersedes another, which has no step once it is superseded', () => {
    const supersedes = { aiReviewId: ids.review, reason: null }
    const claimedAnew = slot(
      slotFact('AiReviewSlotClaimed', {
        aiReviewId: ids.newReview,
        requestEventId: null,
        supersedes,
        claimedAt: at(15),
      }),
    )
    const superseded = review(reviewFact('AiReviewSuperseded'))
    const opened = review(reviewFact('AiReviewRequested', { requestedAt: at(15) }), ids.newReview)
    const open = todo('open', at(17), ids.newReview)
    expect(steps(asked, claimed, requested, claimedAnew)).toEqual([todo('start', at(2)), open])
    expect(steps(asked, claimed, requested, claimedAnew, superseded)).toEqual([open])
    expect(steps(asked, claimed, requested, claimedAnew, superseded, opened)).toEqual([
      todo('start', at(15), ids.newReview),
    ])
  })

  it('contains the place of the request on the channel, and no copy of it', () => {
    const [claim] = todosAfter(aiReviewProcess, recorded([asked]))
    expect(claim?.payload).toEqual({
      channelRevision: '7',
      cause: { eventId: ids.requestEvent, correlationId: expect.any(String) },
    })
    const all = todosAfter(aiReviewProcess, recorded([asked, claimed, requested]))
    expect(JSON.stringify(all)).not.toContain('https://')
  })
})

describe('the next due time of a review', () => {
  it('is at once after a new provider case, stays after an image, and is later after a failure or an open circuit', () => {
    expect(steps(requested, started)).toEqual([todo('start', at(2))])
    expect(steps(requested, started, caseCreated)).toEqual([todo('start', at(5))])
    expect(steps(requested, started, caseCreated, review(reviewFact('AiReviewImageSent')))).toEqual([
      todo('start', at(5)),
    ])
    expect(steps(requested, review(reviewFact('AiReviewStartDeferred')))).toEqual([todo('start', at(7))])
    expect(steps(requested, review(reviewFact('AiReviewCallPostponed')))).toEqual([todo('start', at(6))])
  })

  it('is at each poll', () => {
    const awaiting = [requested, started, caseCreated, accepted]
    expect(steps(...awaiting)).toEqual([todo('poll', at(13))])
    expect(steps(...awaiting, review(reviewFact('AiReviewPollDeferred')))).toEqual([todo('poll', at(18))])
    expect(
      steps(...awaiting, review(reviewFact('AiReviewCallPostponed', { call: 'result', retryAt: at(20) }))),
    ).toEqual([todo('poll', at(20))])
  })

  it.each(ends)('is never after $type', (end) => {
    expect(steps(requested, started, end)).toEqual([])
    expect(steps(requested, caseCreated, accepted, end)).toEqual([])
    expect(steps(requested, caseCreated, accepted, consent(consentPublicFact('consent.withdrawn')), end)).toEqual([])
  })
})

describe('a consent that is withdrawn or denied', () => {
  const start = todo('start', at(2))
  const withdrawal = (due: string, key: string = ids.review) => todo('withdraw', due, key)

  it.each([
    ['consent.withdrawn', at(14)],
    ['consent.denied', at(10)],
  ] as const)('%s ends each open review of that patient', (type, due) => {
    const other = review(reviewFact('AiReviewRequested'), ids.event)
    expect(steps(requested, other, consent(consentPublicFact(type)))).toEqual([
      start,
      withdrawal(due),
      todo('start', at(2), ids.event),
      withdrawal(due, ids.event),
    ])
  })

  it('twice before the step runs is one withdrawal, the latest', () => {
    const [denied, withdrawn] = [
      consent(consentPublicFact('consent.denied')),
      consent(consentPublicFact('consent.withdrawn')),
    ]
    expect(steps(requested, denied, withdrawn, withdrawn)).toEqual([start, withdrawal(at(14))])
    const later = review(reviewFact('AiReviewRequested'), ids.event)
    expect(steps(requested, denied, later, withdrawn)).toEqual([
      start,
      withdrawal(at(14)),
      todo('start', at(2), ids.event),
      withdrawal(at(14), ids.event),
    ])
    const [, todoOfLatest] = todosAfter(
      aiReviewProcess,
      recorded([requested, denied, { ...withdrawn, id: ids.attempt }]),
    )
    expect(todoOfLatest?.payload).toMatchObject({ cause: { eventId: ids.attempt } })
  })

  it('makes nothing due after a later check found consent, unless another withdrawal came in between', () => {
    const [denied, withdrawn] = [
      consent(consentPublicFact('consent.denied')),
      consent(consentPublicFact('consent.withdrawn')),
    ]
    const confirmed = review(reviewFact('AiReviewConsentConfirmed', { checkedAt: at(10) }))
    expect(steps(requested, denied, confirmed)).toEqual([start])
    expect(steps(requested, denied, withdrawn, confirmed)).toEqual([start, withdrawal(at(14))])
    expect(steps(requested, denied, confirmed, withdrawn)).toEqual([start, withdrawal(at(14))])
  })

  it('of another patient, organisation or consent type, or given again, ends none', () => {
    const others = [
      consentPublicFact('consent.withdrawn', { patient_id: ids.otherPatient }),
      consentPublicFact('consent.withdrawn', { org_id: ids.otherOrg }),
      consentPublicFact('consent.withdrawn', { consent_type_code: 'marketing' }),
      consentPublicFact('consent.granted'),
    ]
    expect(steps(requested, ...others.map(consent))).toEqual([start])
  })

  it('ends no review that has ended, or that came later', () => {
    const withdrawn = consent(consentPublicFact('consent.withdrawn'))
    for (const end of ends) expect(steps(requested, end, withdrawn)).toEqual([])
    expect(steps(withdrawn, requested)).toEqual([start])
  })

  it('finds a review once its start has recorded the patient, and not before', () => {
    const unknown = review(reviewFact('AiReviewRequested', { patientId: null }))
    const withdrawn = consent(consentPublicFact('consent.withdrawn'))
    expect(steps(unknown, withdrawn)).toEqual([start])
    expect(steps(unknown, started, withdrawn)).toEqual([start, withdrawal(at(14))])
  })
})
