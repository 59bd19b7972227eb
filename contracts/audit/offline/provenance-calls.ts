import { memberOf, numberOf, textOf, type ProvenEvent } from './proven-events.ts'

/** The members that name the instant of an outcome. */
const outcomeInstants: Readonly<Record<string, string>> = {
  AiReviewProviderCaseCreated: 'createdAt',
  AiReviewImageSent: 'sentAt',
  AiReviewProcessingAccepted: 'acceptedAt',
  AiReviewStartDeferred: 'deferredAt',
  AiReviewCallPostponed: 'postponedAt',
  AiReviewPollDeferred: 'polledAt',
  AiReviewCompleted: 'completedAt',
  AiReviewFailed: 'failedAt',
}

/** Outcomes that older versions also recorded without a call. */
const maybeWithoutCall: readonly string[] = ['AiReviewStartDeferred', 'AiReviewFailed']

interface Outcome {
  readonly type: string
  readonly at: string | null
  /** HTTP status. Null if no answer came, and in older events. */
  readonly status: number | null
  readonly duration_ms: number | null
  readonly event_id: string
}

export interface ProviderCall {
  readonly call: string | null
  readonly image_id: string | null
  readonly attempt_id: string | null
  readonly attempted_at: string | null
  /** Null if it is not known how the call ended. */
  outcome: Outcome | null
  readonly event_id: string
}

/** Each call of the provider, without logins, in the order of the attempts. */
export function callsOf(review: readonly ProvenEvent[]): ProviderCall[] {
  const calls: ProviderCall[] = []
  for (const event of review) {
    const { type, data, id } = event
    if (type === 'AiReviewCallAttempted')
      calls.push({
        call: textOf(data, 'call'),
        image_id: textOf(data, 'imageId'),
        attempt_id: textOf(data, 'attemptId'),
        attempted_at: textOf(data, 'attemptedAt'),
        outcome: null,
        event_id: id,
      })
    const instant = outcomeInstants[type]
    const call = instant === undefined ? undefined : callOf(event, calls)
    if (call === undefined || instant === undefined) continue
    const answered = memberOf(data, 'answered')
    const [status, duration_ms] = [numberOf(answered, 'status'), numberOf(answered, 'durationMs')]
    call.outcome = { type, at: textOf(data, instant), status, duration_ms, event_id: id }
  }
  return calls
}

/** An outcome names its attempt. In older versions it follows the attempt. */
function callOf({ type, data }: ProvenEvent, calls: readonly ProviderCall[]): ProviderCall | undefined {
  const answered = memberOf(data, 'answered')
  const attemptId = textOf(answered, 'attemptId')
  if (attemptId !== null) return calls.find((call) => call.attempt_id === attemptId)
  const last = calls.at(-1)
  if (answered === null || maybeWithoutCall.includes(type) || last === undefined) return undefined
  return last.outcome === null ? last : undefined
}
