import { describe, expect, it } from 'vitest'
import { attemptCall } from '../../../commands/ai-review/attempt-call.ts'
import type { PlannedCall } from '../../../commands/ai-review/next-call.ts'
import { recordOutcome, type CallOutcome, type RecordOutcome } from '../../../commands/ai-review/record-outcome.ts'
import { aiReviews } from '../../../streams/ai-review/aggregate.ts'
import type { AiReviewEvent } from '../../../streams/ai-review/events.ts'
import { answered, lesion, reviewFact as fact } from '../../streams/ai-review-facts.ts'
import { at, ids } from '../../streams/facts.ts'
import { given } from '../../support/given-decider.ts'

const requested = fact('AiReviewRequested')
const started = fact('AiReviewStarted')
const caseCreated = fact('AiReviewProviderCaseCreated')
const sent = [
  fact('AiReviewImageSent'),
  fact('AiReviewImageSent', { imageId: ids.secondImage, providerImageId: 72 }),
] as const
const accepted = fact('AiReviewProcessingAccepted')
const pending = [requested, started] as const
const inProgress = [...pending, caseCreated] as const
const awaiting = [...inProgress, ...sent, accepted] as const
const createCase = { kind: 'call', call: 'case' } as const
const { providerCaseId } = caseCreated.data
const process = { kind: 'call', call: 'process', providerCaseId } as const
const poll = { kind: 'call', call: 'result', nextPollAt: accepted.data.nextPollAt } as const
const image = (imageId: string) => ({ kind: 'call', call: 'image', providerCaseId, imageId }) as const
const ends = [fact('AiReviewCompleted'), fact('AiReviewFailed'), fact('AiReviewCancelled'), fact('AiReviewSuperseded')]
const open = (call: PlannedCall['call'], imageId: string | null = null) =>
  fact('AiReviewCallAttempted', { call, imageId })

describe('beginning a provider call', () => {
  const begin = (next: PlannedCall) => ({
    attemptId: ids.attempt,
    next,
    consent: { checkedAt: new Date(at(3)), decisionId: ids.consent },
    now: new Date(at(4)),
    leaseUntil: new Date(at(24)),
  })

  it.each<[string, readonly AiReviewEvent[], PlannedCall]>([
    ['case', pending, createCase],
    ['an image', inProgress, image(ids.image)],
    ['process', [...inProgress, ...sent], process],
    ['result', awaiting, poll],
  ])('fences %s: the same call again waits for the lease', (_name, events, next) => {
    given(aiReviews, ...events)
      .when(attemptCall, begin(next))
      .thenEvents([open(next.call, next.call === 'image' ? next.imageId : null)])
  })

  it('refuses another attempt while the lease is open, and allows it after the lease has ended', () => {
    given(aiReviews, ...pending, open('case'))
      .when(attemptCall, { ...begin(createCase), attemptId: ids.event })
      .thenNothing()
    const late = { ...begin(createCase), now: new Date(at(24)), leaseUntil: new Date(at(44)) }
    given(aiReviews, ...pending, open('case'))
      .when(attemptCall, late)
      .thenEvents([fact('AiReviewCallAttempted', { attemptedAt: at(24), leaseUntil: at(44) })])
  })

  it('allows another attempt at once if the lease is one of a dead worker', () => {
    const again = { ...begin(createCase), attemptId: ids.event, leaseUntil: new Date(at(44)) }
    given(aiReviews, ...pending, open('case'))
      .when(attemptCall, { ...again, endedLeases: [at(23), begin(createCase).leaseUntil.toISOString()] })
      .thenEvents([fact('AiReviewCallAttempted', { attemptId: ids.event, leaseUntil: at(44) })])
    given(aiReviews, ...pending, open('case'))
      .when(attemptCall, { ...again, endedLeases: [at(23)] })
      .thenNothing()
  })

  it('makes no call that the stream does not need', () => {
    given(aiReviews).when(attemptCall, begin(createCase)).thenNothing()
    given(aiReviews, ...pending)
      .when(attemptCall, begin(process))
      .thenNothing()
    given(aiReviews, ...inProgress)
      .when(attemptCall, begin(image(ids.secondImage)))
      .thenNothing()
    given(aiReviews, ...awaiting)
      .when(attemptCall, begin(process))
      .thenNothing()
    for (const end of ends)
      given(aiReviews, ...awaiting, end)
        .when(attemptCall, begin(poll))
        .thenNothing()
  })

  it('makes no call that was planned for an abandoned provider case or an earlier poll', () => {
    const replaced = fact('AiReviewProviderCaseCreated', { providerCaseId: 701 })
    given(aiReviews, ...inProgress, replaced)
      .when(attemptCall, begin(image(ids.image)))
      .thenNothing()
    given(aiReviews, ...inProgress, replaced, ...sent)
      .when(attemptCall, begin(process))
      .thenNothing()
    given(aiReviews, ...awaiting, fact('AiReviewPollDeferred'))
      .when(attemptCall, begin(poll))
      .thenNothing()
  })
})

const unavailable = { classification: 'consent_check_unavailable', upstreamStatus: null } as const

const outcome = (came: CallOutcome, changes: Partial<RecordOutcome> = {}): RecordOutcome => ({
  of: answered,
  outcome: came,
  now: new Date(at(9)),
  ...changes,
})

describe('recording the outcome of a call', () => {
  it('case: records the provider case', () => {
    given(aiReviews, ...pending, open('case'))
      .when(recordOutcome, outcome({ kind: 'case-created', providerCaseId: 700 }))
      .thenEvents([fact('AiReviewProviderCaseCreated', { createdAt: at(9) })])
  })

  it('image: records that the image was sent', () => {
    const { imageId, providerImageId, providerImageHash, sent: bytes } = fact('AiReviewImageSent').data
    given(aiReviews, ...inProgress, open('image', ids.image))
      .when(recordOutcome, outcome({ kind: 'image-sent', imageId, providerImageId, providerImageHash, sent: bytes }))
      .thenEvents([fact('AiReviewImageSent', { sentAt: at(9) })])
  })

  it('process: the review awaits its result', () => {
    const { providerChecksum, nextPollAt, deadlineAt } = accepted.data
    const after = given(aiReviews, ...inProgress, ...sent, open('process'))
      .when(
        recordOutcome,
        outcome({
          kind: 'processing-accepted',
          providerChecksum,
          nextPollAt: new Date(nextPollAt),
          deadlineAt: new Date(deadlineAt),
        }),
      )
      .thenEvents([fact('AiReviewProcessingAccepted', { acceptedAt: at(9) })])
    expect(after).toMatchObject({ status: 'awaiting_result', providerCaseId: 700, providerChecksum })
  })

  it('a transient failure while starting: records one more retry and its time', () => {
    const transient = {
      kind: 'start-deferred',
      retry: 3,
      classification: 'provider_upstream_transient',
      upstreamStatus: 503,
      abandonsProviderCase: true,
      retryAt: new Date(at(13)),
    } as const
    given(aiReviews, ...inProgress, fact('AiReviewStartDeferred', { retry: 2 }), open('image', ids.image))
      .when(recordOutcome, outcome(transient))
      .thenEvents([
        fact('AiReviewStartDeferred', { retry: 3, abandonsProviderCase: true, deferredAt: at(9), retryAt: at(13) }),
      ])
  })

  it('a failed check after a crash during an attempt: the provider case is still abandoned', () => {
    const check = {
      kind: 'start-deferred',
      retry: 1,
      ...unavailable,
      abandonsProviderCase: false,
      retryAt: new Date(at(30)),
    } as const
    given(aiReviews, ...inProgress, open('image', ids.image))
      .when(recordOutcome, outcome(check, { of: { unattempted: createCase }, now: new Date(at(24)) }))
      .thenEvents([
        fact('AiReviewStartDeferred', {
          ...unavailable,
          answered: null,
          abandonsProviderCase: true,
          deferredAt: at(24),
          retryAt: at(30),
        }),
      ])
  })

  it('failed checks of two workers for the same call: one retry', () => {
    const check = {
      kind: 'start-deferred',
      retry: 1,
      ...unavailable,
      abandonsProviderCase: false,
      retryAt: new Date(at(30)),
    } as const
    given(aiReviews, ...inProgress, fact('AiReviewStartDeferred', { ...unavailable, retry: 1 }))
      .when(recordOutcome, outcome(check, { of: { unattempted: image(ids.image) }, now: new Date(at(24)) }))
      .thenNothing()
  })

  it('a call that was not sent: due again, without a used try', () => {
    const after = given(aiReviews, ...pending, open('case'))
      .when(recordOutcome, outcome({ kind: 'postponed', call: 'case', retryAt: new Date(at(12)) }))
      .thenEvents([fact('AiReviewCallPostponed', { postponedAt: at(9), retryAt: at(12) })])
    expect(after).toMatchObject({ startRetries: 0, attemptCount: 0 })
  })

  it('a poll without a result: counted', () => {
    const after = given(aiReviews, ...awaiting, fact('AiReviewPollDeferred'), open('result'))
      .when(recordOutcome, outcome({ kind: 'poll-deferred', upstreamStatus: 503, nextPollAt: new Date(at(33)) }))
      .thenEvents([
        fact('AiReviewPollDeferred', { attemptCount: 2, upstreamStatus: 503, polledAt: at(9), nextPollAt: at(33) }),
      ])
    expect(after).toMatchObject({ attemptCount: 2, nextPollAt: at(33) })
  })

  it('a result: the review is completed', () => {
    const {
      aiReviewId: _,
      attemptCount: _count,
      aiProvider,
      rawResponse,
      completedAt: _at,
      answered: _answered,
      ...result
    } = fact('AiReviewCompleted').data
    given(aiReviews, ...awaiting, fact('AiReviewPollDeferred'), open('result'))
      .when(
        recordOutcome,
        outcome({ kind: 'completed', aiProvider, result: { ...result, lesions: [lesion] }, rawResponse }),
      )
      .thenEvents([fact('AiReviewCompleted', { completedAt: at(9) })])
  })

  it('a result without success: the review fails, with the verdict, provider version and image quality', () => {
    const { imageQuality, rawResponse } = fact('AiReviewCompleted').data
    const providerOutcome = { analysisResult: 'PROCESSING_FAILED', providerVersion: '4.2', imageQuality }
    const recorded = {
      classification: 'provider_processing_failed',
      upstreamStatus: null,
      providerOutcome,
      rawResponse,
    } as const
    given(aiReviews, ...awaiting, open('result'))
      .when(recordOutcome, outcome({ kind: 'failed', ...recorded, isPoll: true }))
      .thenEvents([fact('AiReviewFailed', { ...recorded, attemptCount: 1, answered })])
  })

  it('a failure: the review fails, counting the poll that failed', () => {
    const failed = {
      kind: 'failed',
      classification: 'provider_result_timeout',
      upstreamStatus: null,
      providerOutcome: null,
      rawResponse: null,
    } as const
    given(aiReviews, ...awaiting, open('result'))
      .when(recordOutcome, outcome({ ...failed, isPoll: true }))
      .thenEvents([
        fact('AiReviewFailed', {
          classification: 'provider_result_timeout',
          upstreamStatus: null,
          attemptCount: 1,
          answered,
        }),
      ])
    given(aiReviews, ...pending)
      .when(recordOutcome, outcome({ ...failed, isPoll: false }, { of: { unattempted: createCase } }))
      .thenEvents([
        fact('AiReviewFailed', { classification: 'provider_result_timeout', upstreamStatus: null, attemptCount: 0 }),
      ])
  })
})

describe('a late outcome', () => {
  const created = { kind: 'case-created', providerCaseId: 700 } as const

  it('changes nothing if another attempt is open, or none', () => {
    given(aiReviews, ...pending, fact('AiReviewCallAttempted', { attemptId: ids.event }))
      .when(recordOutcome, outcome(created))
      .thenNothing()
    given(aiReviews, ...pending)
      .when(recordOutcome, outcome(created))
      .thenNothing()
  })

  it('changes nothing after the review has ended, or before it began', () => {
    for (const end of ends)
      given(aiReviews, ...awaiting, open('result'), end)
        .when(recordOutcome, outcome(created))
        .thenNothing()
    given(aiReviews)
      .when(recordOutcome, outcome(created, { of: { unattempted: createCase } }))
      .thenNothing()
  })

  it('of a check before a call changes nothing while an attempt is under way, and counts after its lease has ended', () => {
    const missing = {
      kind: 'failed',
      classification: 'consent_missing',
      upstreamStatus: null,
      providerOutcome: null,
      rawResponse: null,
      isPoll: false,
    } as const
    given(aiReviews, ...pending, open('case'))
      .when(recordOutcome, outcome(missing, { of: { unattempted: createCase } }))
      .thenNothing()
    given(aiReviews, ...pending, open('case'))
      .when(recordOutcome, outcome(missing, { of: { unattempted: createCase }, now: new Date(at(24)) }))
      .thenEvents([
        fact('AiReviewFailed', { classification: 'consent_missing', upstreamStatus: null, failedAt: at(24) }),
      ])
  })

  it('of a check before a call that is no longer needed changes nothing', () => {
    const unread = {
      kind: 'failed',
      classification: 'image_fetch_failed',
      upstreamStatus: 403,
      providerOutcome: null,
      rawResponse: null,
      isPoll: false,
    } as const
    const before = (unattempted: PlannedCall) => outcome(unread, { of: { unattempted } })
    given(aiReviews, ...inProgress, ...sent)
      .when(recordOutcome, before(image(ids.secondImage)))
      .thenNothing()
    given(aiReviews, ...inProgress, fact('AiReviewProviderCaseCreated', { providerCaseId: 701 }))
      .when(recordOutcome, before(image(ids.image)))
      .thenNothing()
    given(aiReviews, ...inProgress)
      .when(recordOutcome, before(image(ids.image)))
      .thenEvents([
        fact('AiReviewFailed', { classification: 'image_fetch_failed', upstreamStatus: 403, failedAt: at(9) }),
      ])
  })
})
