import { describe, expect, it } from 'vitest'
import { cancelReview, isSameRequest } from '../../../commands/ai-review/cancel-review.ts'
import { takeSlot } from '../../../commands/ai-review/take-slot.ts'
import { openReview } from '../../../commands/ai-review/open-review.ts'
import { supersedeReview } from '../../../commands/ai-review/supersede-review.ts'
import { supersedeSlot } from '../../../commands/ai-review/supersede-review.ts'
import { aiReviewSlots } from '../../../streams/ai-review-slot/aggregate.ts'
import type { AiReviewEvent } from '../../../streams/ai-review/events.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import { reviewFact as fact, slotFact } from '../../streams/ai-review-facts.ts'
import { at, hash, ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

const requested = fact('AiReviewRequested')
const inProgress = [requested, fact('AiReviewStarted'), fact('AiReviewProviderCaseCreated')] as const
const sent = [fact('AiReviewImageSent'), fact('AiReviewImageSent', { imageId: ids.secondImage })] as const
const awaiting = [...inProgress, ...sent, fact('AiReviewProcessingAccepted')] as const
const completed = fact('AiReviewCompleted')
const failed = fact('AiReviewFailed')
const superseded = fact('AiReviewSuperseded')
const request = { key: hash('1'), fingerprint: hash('2') }

const open: readonly (readonly [string, readonly AiReviewEvent[]])[] = [
  ['pending', [requested]],
  ['pending, a call under way', [requested, fact('AiReviewStarted'), fact('AiReviewCallAttempted')]],
  ['in progress', inProgress],
  ['awaiting its result', awaiting],
]

describe('cancelling a review', () => {
  const command = { request, now: new Date(at(14)) }
  const cancelled = fact('AiReviewCancelled', { reason: 'requested', request })

  it.each(open)('%s ends it, once', (_status, events) => {
    given(aiReviews, ...events)
      .when(cancelReview, command)
      .thenEvents([cancelled])
  })

  it('again, with the same key, another key or none, changes nothing', () => {
    for (const other of [request, null, { ...request, key: hash('3') }]) {
      given(aiReviews, ...awaiting, cancelled)
        .when(cancelReview, { ...command, request: other })
        .thenNothing()
    }
    given(aiReviews, ...awaiting, fact('AiReviewCancelled'))
      .when(cancelReview, command)
      .thenNothing()
  })

  it.each([
    ['completed', completed],
    ['failed', failed],
    ['superseded', superseded],
  ] as const)('%s is refused', (_status, end) => {
    given(aiReviews, ...awaiting, end)
      .when(cancelReview, command)
      .thenRefused('ai-review-not-cancellable')
  })

  it('is identified by its key for ever, also after the review was superseded', () => {
    const after = given(aiReviews, requested, cancelled, superseded)
    after.when(cancelReview, command).thenNothing()
    after.when(cancelReview, { ...command, request: null }).thenRefused('ai-review-not-cancellable')
    expect(isSameRequest(command, after.state)).toBe(true)
    expect(isSameRequest({ request: { ...request, key: hash('3') } }, after.state)).toBe(false)
    expect(isSameRequest({ request: null }, given(aiReviews, requested, fact('AiReviewCancelled')).state)).toBe(false)
  })
})

const claimed = slotFact('AiReviewSlotClaimed')
const supersedes = { aiReviewId: ids.review, reason: 'expired addresses' }
const claimedAnew = slotFact('AiReviewSlotClaimed', {
  aiReviewId: ids.newReview,
  requestEventId: null,
  supersedes,
  request,
  claimedAt: at(15),
})

describe('superseding the review that holds a slot', () => {
  const { claimedAt: _claimedAt, requestEventId: _requestEventId, ...holder } = claimedAnew.data
  const command = { ...holder, supersedes, now: new Date(at(15)) }
  const another = { ...command, aiReviewId: ids.attempt, request: { ...request, key: hash('3') } }

  it('gives the slot to the new one, once', () => {
    given(aiReviewSlots, claimed).when(supersedeSlot, command).thenEvents([claimedAnew])
  })

  it('without a key is refused the second time', () => {
    const unkeyed = slotFact('AiReviewSlotClaimed', { ...claimedAnew.data, request: null })
    given(aiReviewSlots, claimed)
      .when(supersedeSlot, { ...command, request: null })
      .thenEvents([unkeyed], 'ai-review-already-superseded')
  })

  it('that another request has superseded is refused', () => {
    given(aiReviewSlots, claimed, claimedAnew).when(supersedeSlot, another).thenRefused('ai-review-already-superseded')
    given(aiReviewSlots).when(supersedeSlot, command).thenRefused('conflict')
  })

  it('is identified by its key also after the new review was superseded, and refused for another body', () => {
    const third = slotFact('AiReviewSlotClaimed', {
      ...claimedAnew.data,
      aiReviewId: ids.attempt,
      supersedes: { aiReviewId: ids.newReview, reason: null },
      request: null,
    })
    const after = given(aiReviewSlots, claimed, claimedAnew, third)
    after.when(supersedeSlot, command).thenNothing()
    after
      .when(supersedeSlot, { ...command, request: { ...request, fingerprint: hash('3') } })
      .thenRefused('idempotency-key-reused')
  })

  it('keeps the answer of the request that claimed the slot first', () => {
    const { claimedAt: _at, supersedes: _supersedes, request: _request, ...asked } = claimed.data
    const again = { ...asked, requestEventId: ids.requestEvent, now: new Date(at(20)) }
    given(aiReviewSlots, claimed, claimedAnew).when(takeSlot, again).thenNothing()
    const answered = slotFact('AiReviewRequestAnswered', { aiReviewId: ids.newReview, answeredAt: at(20) })
    given(aiReviewSlots, claimed, claimedAnew)
      .when(takeSlot, { ...again, requestEventId: ids.event })
      .thenEvents([answered])
  })
})

describe('a review that was superseded', () => {
  const command = { holder: claimedAnew.data }

  it.each([
    ...open,
    ['completed', [...awaiting, completed]],
    ['failed', [requested, failed]],
    ['cancelled', [requested, fact('AiReviewCancelled')]],
  ] as const)('when %s records it, once', (_status, events) => {
    given(aiReviews, ...events)
      .when(supersedeReview, command)
      .thenEvents([superseded])
  })

  it('records nothing for a first claim, or if there is no review', () => {
    given(aiReviews, requested).when(supersedeReview, { holder: claimed.data }).thenNothing()
    given(aiReviews).when(supersedeReview, command).thenNothing()
  })

  it('is followed by the review that the claim describes, once', () => {
    const first = fact('AiReviewRequested', { aiReviewId: ids.newReview, requestedAt: at(15) })
    given(aiReviews).when(openReview, command).thenEvents([first])
  })
})
