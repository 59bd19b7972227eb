import { describe, expect, it } from 'vitest'
import { claimSlot } from '../../../commands/ai-review/claim-slot.ts'
import { supersedeReview } from '../../../commands/ai-review/supersede-review.ts'
import { aiReviewSlots } from '../../../streams/ai-review-slot/aggregate.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import { reviewFact, slotFact } from '../../streams/ai-review-facts.ts'
import { at, hash, ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

const request = { key: hash('1'), fingerprint: hash('2') }
const held = slotFact('AiReviewSlotClaimed')
const { requestEventId: _, supersedes: __, claimedAt: ___, ...holder } = held.data
const command = { ...holder, aiReviewId: ids.newReview, request, isSuperseding: false, now: new Date(at(9)) }
const claimed = slotFact('AiReviewSlotClaimed', {
  aiReviewId: ids.newReview,
  requestEventId: null,
  request,
  claimedAt: at(9),
})
const answered = slotFact('AiReviewRequestAnswered', { requestEventId: null, request, answeredAt: at(9) })

describe('a request of a client', () => {
  it('claims a free slot once', () => {
    const after = given(aiReviewSlots).when(claimSlot, command).thenEvents([claimed])
    const outcomes = after.status === 'taken' ? [...after.keyedOutcomes] : []
    const outcome = { fingerprint: request.fingerprint, aiReviewId: ids.newReview, isNew: true }
    expect(outcomes).toEqual([[request.key, outcome]])
  })

  it('for a taken slot is answered with its review. The slot keeps the answer to a keyed request', () => {
    given(aiReviewSlots, held).when(claimSlot, command).thenEvents([answered])
    given(aiReviewSlots, held)
      .when(claimSlot, { ...command, request: null })
      .thenNothing()
  })

  it('supersedes the review that holds the slot, if it asks for that', () => {
    const supersedes = { aiReviewId: ids.review, reason: null }
    const superseding = slotFact('AiReviewSlotClaimed', { ...claimed.data, supersedes })
    given(aiReviewSlots, held)
      .when(claimSlot, { ...command, isSuperseding: true })
      .thenEvents([superseding])
    given(aiReviewSlots)
      .when(claimSlot, { ...command, isSuperseding: true })
      .thenEvents([claimed])
  })

  it('with a known key and other content is refused, for both answers', () => {
    const other = { ...command, request: { ...request, fingerprint: hash('3') } }
    given(aiReviewSlots, claimed).when(claimSlot, other).thenRefused('idempotency-key-reused')
    given(aiReviewSlots, held, answered).when(claimSlot, other).thenRefused('idempotency-key-reused')
  })
})

it('a review without its first event cannot be superseded, so its claim must be completed first', () => {
  const supersedes = { aiReviewId: ids.review, reason: null }
  const successor = { ...claimed.data, supersedes }
  given(aiReviews).when(supersedeReview, { holder: successor }).thenNothing()
  given(aiReviews, reviewFact('AiReviewRequested'))
    .when(supersedeReview, { holder: successor })
    .thenEvents([
      reviewFact('AiReviewSuperseded', { supersededById: ids.newReview, reason: null, supersededAt: at(9) }),
    ])
})
