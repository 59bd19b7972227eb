import { callsOf } from './provenance-calls.ts'
import { consentChecksOf, decisionsOf } from './provenance-consents.ts'
import { humanReviewOf } from './provenance-human-review.ts'
import { imagesOf } from './provenance-images.ts'
import { eventsOf, firstOf, memberOf, numberOf, textOf, type ProvenEvent } from './proven-events.ts'

/** The members that name the instant of an end. */
const ends: Readonly<Record<string, { readonly status: string; readonly at: string }>> = {
  AiReviewCompleted: { status: 'completed', at: 'completedAt' },
  AiReviewFailed: { status: 'failed', at: 'failedAt' },
  AiReviewCancelled: { status: 'cancelled', at: 'cancelledAt' },
  AiReviewSuperseded: { status: 'superseded', at: 'supersededAt' },
}

export type ProvenanceDocument = NonNullable<ReturnType<typeof provenanceOf>>

/**
 * The document that follows from these events, and from nothing else. The platform makes it with this function from the
 * stored bytes, and a check makes it again from the proven ones. So each fact of it is one of an event. Undefined if the
 * events have no requested review.
 */
export function provenanceOf(events: readonly ProvenEvent[]) {
  const requested = firstOf(events, 'AiReviewRequested')
  const [orgId, reviewId] = [textOf(requested?.data, 'orgId'), textOf(requested?.data, 'aiReviewId')]
  if (requested === undefined || orgId === null || reviewId === null) return undefined
  const streamOf = (category: string, id: string) => `${category}-${orgId}-${id}`
  const review = eventsOf(events, streamOf('ai_review', reviewId))
  const started = firstOf(review, 'AiReviewStarted')
  const patientId = textOf(started?.data, 'patientId') ?? textOf(requested.data, 'patientId')
  const caseId = textOf(requested.data, 'caseId')
  const productId = textOf(requested.data, 'productId')

  const opened = caseId === null ? undefined : firstOf(eventsOf(events, streamOf('case', caseId)), 'CaseOpened')
  const assessment = assessmentOf(events, streamOf, productId)
  const task = events.find(
    ({ stream, data }) => stream.startsWith(`humanreviewtask-${orgId}-`) && textOf(data, 'aiReviewId') === reviewId,
  )
  const consent = patientId === null ? [] : eventsOf(events, streamOf('consent', patientId))
  const decisions = decisionsOf(consent, events)

  return {
    version: 1,
    review: {
      id: reviewId,
      product_id: productId,
      requested_at: textOf(requested.data, 'requestedAt'),
      event_id: requested.id,
    },
    organisation: { id: orgId, event_id: requested.id },
    patient: { id: patientId, event_id: (started ?? requested).id },
    case: { id: caseId, opened_at: textOf(opened?.data, 'openedAt'), event_id: (opened ?? requested).id },
    assessment: assessment.requested && {
      id: textOf(assessment.requested.data, 'assessmentId'),
      requested_at: textOf(assessment.requested.data, 'requestedAt'),
      event_id: assessment.requested.id,
    },
    consent_decisions: decisions,
    consent_checks: consentChecksOf(review, decisions),
    images: imagesOf(review, { streamOf, events }, assessment.events),
    provider: providerOf(review),
    calls: callsOf(review),
    ends: review.flatMap(({ type, data, id }) => {
      const end = ends[type]
      return end === undefined
        ? []
        : [
            {
              status: end.status,
              at: textOf(data, end.at),
              error: textOf(data, 'classification'),
              cancel_reason: type === 'AiReviewCancelled' ? textOf(data, 'reason') : null,
              superseded_by_id: textOf(data, 'supersededById'),
              event_id: id,
            },
          ]
    }),
    result: resultOf(review),
    human_review: humanReviewOf(eventsOf(events, task?.stream ?? '')),
  }
}

/** The assessment of the case that has the product of the review. */
function assessmentOf(
  events: readonly ProvenEvent[],
  streamOf: (category: string, id: string) => string,
  productId: string | null,
) {
  const requested = events.find(
    ({ type, stream, data }) =>
      type === 'AssessmentRequested' &&
      textOf(data, 'productId') === productId &&
      stream === streamOf('assessment', textOf(data, 'assessmentId') ?? ''),
  )
  return { requested: requested ?? null, events: requested === undefined ? [] : eventsOf(events, requested.stream) }
}

function answerOf(review: readonly ProvenEvent[]): ProvenEvent | undefined {
  return review.find(
    ({ type, data }) =>
      type === 'AiReviewCompleted' ||
      (type === 'AiReviewFailed' && textOf(memberOf(data, 'rawResponse'), 'sha256') !== null),
  )
}

function providerOf(review: readonly ProvenEvent[]) {
  const answer = answerOf(review)
  if (answer === undefined) return null
  const { data, id } = answer
  return {
    name: textOf(data, 'aiProvider'),
    version: textOf(data, 'providerVersion') ?? textOf(memberOf(data, 'providerOutcome'), 'providerVersion'),
    event_id: id,
  }
}

/** The answer of the provider, as codes and hashes. */
function resultOf(review: readonly ProvenEvent[]) {
  const answer = answerOf(review)
  if (answer === undefined) return null
  const { data, id } = answer
  const raw = memberOf(data, 'rawResponse')
  return {
    analysis_result: textOf(data, 'analysisResult') ?? textOf(memberOf(data, 'providerOutcome'), 'analysisResult'),
    analysis_status: textOf(data, 'analysisStatus'),
    lesion_count: numberOf(data, 'lesionCount'),
    report_date: textOf(data, 'reportDate'),
    /** Of the answer as the provider sent it. Null in older events. */
    response_sha256: textOf(raw, 'contentSha256'),
    /** Of the encrypted object that the platform stores. */
    stored_sha256: textOf(raw, 'sha256'),
    stored_bytes: numberOf(raw, 'bytes'),
    event_id: id,
  }
}
