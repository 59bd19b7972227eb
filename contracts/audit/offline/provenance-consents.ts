import { textOf, type ProvenEvent } from './proven-events.ts'

/** The consent that an analysis of images by an AI needs. */
const consentTypeCode = 'ai_analysis'

/** The calls before which consent is checked again, as the specification demands. */
const checkedCalls: readonly (string | null)[] = ['case', 'process']

interface TextVersion {
  readonly id: string | null
  readonly locale: string | null
  /** Of the UTF-8 bytes of the text, as the decision and the text have it. */
  readonly text_sha256: string | null
  /** Null if the text is not among the events. */
  readonly event_id: string | null
}

interface Decision {
  readonly id: string | null
  readonly decision: string | null
  /** When the patient decided, and when the platform recorded it. */
  readonly recorded_at: string | null
  readonly created_at: string | null
  readonly text_version: TextVersion
  readonly event_id: string
}

interface ConsentCheck {
  readonly call: string | null
  readonly attempt_id: string | null
  readonly checked_at: string | null
  /** The decision that the check found. Null in older events, and if another consent service answered. */
  readonly decision: Decision | null
  readonly event_id: string
}

/** Decisions of the patient on the analysis, in the order in which they were recorded. */
export function decisionsOf(consent: readonly ProvenEvent[], events: readonly ProvenEvent[]): Decision[] {
  return consent
    .filter(({ data }) => textOf(data, 'consentTypeCode') === consentTypeCode)
    .map(({ id, data }) => ({
      id: textOf(data, 'consentId'),
      decision: textOf(data, 'decision'),
      recorded_at: textOf(data, 'recordedAt'),
      created_at: textOf(data, 'createdAt'),
      text_version: textVersionOf(data, events),
      event_id: id,
    }))
}

export function consentChecksOf(review: readonly ProvenEvent[], decisions: readonly Decision[]): ConsentCheck[] {
  return review
    .filter(({ type, data }) => type === 'AiReviewCallAttempted' && checkedCalls.includes(textOf(data, 'call')))
    .map(({ id, data }) => {
      const decisionId = textOf(data, 'consentDecisionId')
      return {
        call: textOf(data, 'call'),
        attempt_id: textOf(data, 'attemptId'),
        checked_at: textOf(data, 'consentCheckedAt'),
        decision: decisions.find((decision) => decisionId !== null && decision.id === decisionId) ?? null,
        event_id: id,
      }
    })
}

function textVersionOf(decision: ProvenEvent['data'], events: readonly ProvenEvent[]): TextVersion {
  const id = textOf(decision, 'textVersionId')
  const published = events.find(
    ({ type, data }) => type === 'ConsentTextVersionPublished' && textOf(data, 'textVersionId') === id,
  )
  return {
    id,
    locale: textOf(published?.data, 'locale'),
    text_sha256: textOf(decision, 'textSha256'),
    event_id: published?.id ?? null,
  }
}
