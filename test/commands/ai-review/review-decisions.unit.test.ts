import { describe, expect, it } from 'vitest'
import { takeSlot } from '../../../commands/ai-review/take-slot.ts'
import { nextCall } from '../../../commands/ai-review/next-call.ts'
import { openReview } from '../../../commands/ai-review/open-review.ts'
import { startReview } from '../../../commands/ai-review/open-review.ts'
import { confirmConsent, withdrawConsent } from '../../../commands/ai-review/withdraw-consent.ts'
import { aiReviewSlots } from '../../../streams/ai-review-slot/aggregate.ts'
import { aiReviews, type AiReviewState } from '../../../streams/ai-review/aggregate.ts'
import type { AiReviewEvent } from '../../../streams/ai-review/events.ts'
import { reviewFact as fact, slotFact } from '../../streams/ai-review-facts.ts'
import { at, ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

const requested = fact('AiReviewRequested')
const started = fact('AiReviewStarted')
const caseCreated = fact('AiReviewProviderCaseCreated')
const firstSent = fact('AiReviewImageSent')
const secondSent = fact('AiReviewImageSent', { imageId: ids.secondImage, providerImageId: 72 })
const accepted = fact('AiReviewProcessingAccepted')
const awaiting = [requested, started, caseCreated, firstSent, secondSent, accepted] as const
const ends = {
  completed: fact('AiReviewCompleted'),
  failed: fact('AiReviewFailed'),
  cancelled: fact('AiReviewCancelled'),
  superseded: fact('AiReviewSuperseded'),
}

describe('the slot of a case and a product', () => {
  const claimed = slotFact('AiReviewSlotClaimed')
  const { claimedAt: _, supersedes: _supersedes, request: _request, ...holder } = claimed.data
  const command = { ...holder, requestEventId: ids.requestEvent, now: new Date(at(2)) }
  const another = { ...command, aiReviewId: ids.attempt, requestEventId: ids.event, now: new Date(at(3)) }

  it('is claimed once', () => {
    given(aiReviewSlots).when(takeSlot, command).thenEvents([claimed])
  })

  it('records the holder as the answer to another request, once, and enqueues nothing', () => {
    given(aiReviewSlots, claimed)
      .when(takeSlot, another)
      .thenEvents([slotFact('AiReviewRequestAnswered')])
  })

  it('opens the review that its claim describes, once', () => {
    given(aiReviews).when(openReview, { holder: claimed.data }).thenEvents([requested])
    for (const end of Object.values(ends))
      given(aiReviews, requested, end).when(openReview, { holder: claimed.data }).thenNothing()
  })
})

describe('starting a review', () => {
  const command = { patientId: ids.patient, addresses: null, now: new Date(at(3)) }

  it('is recorded once, also after retries', () => {
    given(aiReviews, requested).when(startReview, command).thenEvents([started])
    given(aiReviews, requested, started, caseCreated).when(startReview, command).thenNothing()
  })

  it('does nothing for a review that does not exist, awaits its result or has ended', () => {
    given(aiReviews).when(startReview, command).thenNothing()
    given(aiReviews, ...awaiting)
      .when(startReview, command)
      .thenNothing()
    for (const end of Object.values(ends)) given(aiReviews, requested, end).when(startReview, command).thenNothing()
  })
})

describe('the next provider call', () => {
  const now = new Date(at(100))
  const { providerCaseId } = caseCreated.data
  const image = (imageId: string) => ({ kind: 'call', call: 'image', providerCaseId, imageId })
  const after = (...events: AiReviewEvent[]): AiReviewState => given(aiReviews, ...events).state
  const attempt = (call: 'case' | 'image' | 'process' | 'result', leaseUntil: string, imageId: string | null = null) =>
    fact('AiReviewCallAttempted', { call, imageId, leaseUntil })

  it('is a case, then each image in order, then process, then the result', () => {
    expect(nextCall(after(requested), now)).toEqual({ kind: 'call', call: 'case' })
    expect(nextCall(after(requested, started, caseCreated), now)).toEqual(image(ids.image))
    expect(nextCall(after(requested, started, caseCreated, firstSent), now)).toEqual(image(ids.secondImage))
    expect(nextCall(after(requested, started, caseCreated, firstSent, secondSent), now)).toEqual({
      kind: 'call',
      call: 'process',
      providerCaseId,
    })
    expect(nextCall(after(...awaiting), now)).toEqual({
      kind: 'call',
      call: 'result',
      nextPollAt: accepted.data.nextPollAt,
    })
  })

  it('does not exist before the request and after the end', () => {
    expect(nextCall(after(), now)).toEqual({ kind: 'nothing' })
    for (const end of Object.values(ends)) expect(nextCall(after(...awaiting, end), now)).toEqual({ kind: 'nothing' })
  })

  it('waits for an attempt whose lease is open, to the millisecond', () => {
    const open = after(requested, attempt('case', at(100)))
    expect(nextCall(open, new Date(now.getTime() - 1))).toEqual({ kind: 'wait', until: now })
    expect(nextCall(open, now)).toEqual({ kind: 'call', call: 'case' })
  })

  it.each(['case', 'image'] as const)('starts a new provider case after a crash during %s', (call) => {
    const cutOff = after(requested, started, caseCreated, firstSent, attempt(call, at(50), ids.secondImage))
    expect(nextCall(cutOff, now)).toEqual({ kind: 'call', call: 'case' })
  })

  it('forgets no interrupted attempt, whatever the next attempt is', () => {
    const twice = after(
      requested,
      started,
      caseCreated,
      firstSent,
      attempt('image', at(40), ids.secondImage),
      attempt('case', at(50)),
    )
    expect(nextCall(twice, now)).toEqual({ kind: 'call', call: 'case' })
    const state = after(
      requested,
      started,
      caseCreated,
      attempt('image', at(40), ids.image),
      attempt('process', at(50)),
      fact('AiReviewCallPostponed', { call: 'process' }),
    )
    expect(nextCall(state, now)).toEqual({ kind: 'call', call: 'case' })
  })

  it('repeats process and result on the same provider case after a crash', () => {
    expect(
      nextCall(after(requested, started, caseCreated, firstSent, secondSent, attempt('process', at(50))), now),
    ).toEqual({ kind: 'call', call: 'process', providerCaseId })
    expect(nextCall(after(...awaiting, attempt('result', at(50))), now)).toEqual({
      kind: 'call',
      call: 'result',
      nextPollAt: accepted.data.nextPollAt,
    })
  })

  it('sends every image again to a new provider case', () => {
    const replaced = after(
      requested,
      started,
      caseCreated,
      firstSent,
      fact('AiReviewProviderCaseCreated', { providerCaseId: 701 }),
    )
    expect(replaced).toMatchObject({ status: 'in_progress', providerCaseId: 701, isProviderCaseAbandoned: false })
    expect(nextCall(replaced, now)).toEqual({ ...image(ids.image), providerCaseId: 701 })
  })

  it('is a new case after a deferral that abandons the provider case, and the same one after a deferral that does not', () => {
    const deferred = (abandonsProviderCase: boolean) =>
      after(requested, started, caseCreated, fact('AiReviewStartDeferred', { abandonsProviderCase }))
    expect(nextCall(deferred(true), now)).toEqual({ kind: 'call', call: 'case' })
    expect(nextCall(deferred(false), now)).toEqual(image(ids.image))
    const abandonedEarlier = after(
      requested,
      started,
      caseCreated,
      fact('AiReviewStartDeferred', { abandonsProviderCase: true }),
      fact('AiReviewStartDeferred', { retry: 2 }),
    )
    expect(nextCall(abandonedEarlier, now)).toEqual({ kind: 'call', call: 'case' })
  })
})

describe('a consent that is withdrawn', () => {
  const command = { now: new Date(at(14)) }
  const failed = fact('AiReviewFailed', { classification: 'consent_missing', upstreamStatus: null, failedAt: at(14) })

  it('fails a review that is pending or in progress', () => {
    given(aiReviews, requested).when(withdrawConsent, command).thenEvents([failed])
    given(aiReviews, requested, started, caseCreated, firstSent).when(withdrawConsent, command).thenEvents([failed])
  })

  it('cancels a review that awaits its result', () => {
    given(aiReviews, ...awaiting)
      .when(withdrawConsent, command)
      .thenEvents([fact('AiReviewCancelled')])
  })

  it('and granted again leaves the review unchanged, and records this', () => {
    const confirmed = fact('AiReviewConsentConfirmed', { checkedAt: at(14) })
    for (const events of [[requested], [...awaiting]]) {
      const before = given(aiReviews, ...events).state
      const after = given(aiReviews, ...events)
        .when(confirmConsent, command)
        .thenEvents([confirmed])
      expect(after).toEqual({ ...before, consentConfirmedAt: at(14) })
    }
    for (const end of Object.values(ends))
      given(aiReviews, ...awaiting, end)
        .when(confirmConsent, command)
        .thenNothing()
    given(aiReviews).when(confirmConsent, command).thenNothing()
  })

  it('does nothing to a review that has ended or does not exist', () => {
    given(aiReviews).when(withdrawConsent, command).thenNothing()
    for (const end of Object.values(ends))
      given(aiReviews, ...awaiting, end)
        .when(withdrawConsent, command)
        .thenNothing()
  })
})
