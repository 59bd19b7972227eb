import { LRUCache } from 'lru-cache'
import type { EventStore } from '../../streams/store/event-store.ts'
import type { RecordedEvent } from '../../streams/store/events.ts'
import type { ConsentAnswer } from './record.ts'

export interface ConsentQuestion {
  readonly orgId: string
  readonly patientId: string
  /** Code of the consent type. */
  readonly code: string
}

/**
 * Queries the consent service. Its answer must include everything recorded before the query, as that of
 * `GET /v1/consent-records` does, or be `unavailable`. Otherwise the cache would keep an answer without a decision that
 * came before.
 */
export type AskConsent = (question: ConsentQuestion, signal: AbortSignal) => Promise<ConsentAnswer>

export interface ConsentClientOptions {
  readonly ask: AskConsent
  readonly events: Pick<EventStore, 'readLast' | 'subscribeToStream'>
  readonly now: () => Date
  /** Number of patients in the cache. Default 10,000. */
  readonly patients?: number
}

export interface ConsentClient {
  /** `unavailable` is not a permission. */
  check(question: ConsentQuestion, signal: AbortSignal): Promise<ConsentAnswer>
  close(): Promise<void>
}

/** The public channel of the consent service (specification section 6). */
const channel = 'consent.events'
/** Client-side consent cache (specification section 8), in milliseconds. */
const lifetimeMs = 5 * 60_000

interface KeptAnswer {
  readonly answer: ConsentAnswer
  readonly until: number
}
type AnswersOfPatient = Map<string, KeptAnswer>

/**
 * Caches answers for at most five minutes, and only while it receives every decision. A decision on `consent.events`
 * removes the cached answers of its patient. Without a live subscription it caches nothing and queries for every check.
 * Only for callers that may act on a consent withdrawn a moment ago. An AI review never decides on cached consent
 * (T24).
 *
 * Rejects if the event store cannot be read.
 */
export async function openConsentClient({
  ask,
  events,
  now,
  patients = 10_000,
}: ConsentClientOptions): Promise<ConsentClient> {
  const kept = new LRUCache<string, AnswersOfPatient>({ max: patients })
  const closing = new AbortController()
  const last = await events.readLast(channel, { skipForeign: true })
  const subscription = events.subscribeToStream({
    name: 'consent client',
    stream: channel,
    fromRevision: last?.revision ?? 'start',
    signal: closing.signal,
    onEvent: (event) => {
      const patient = patientOf(event)
      if (patient === undefined) kept.clear()
      else kept.delete(patient)
    },
    // The event may be about any patient.
    onUndecodable: () => kept.clear(),
    // The subscription never connects again, so nothing may stay cached.
    onError: () => kept.clear(),
  })
  let connections = subscription.stats().restarts

  /** Whether the subscription is live, and was without a break since the last call. If not, it clears the cache. */
  function isListening(): boolean {
    const { connected, caughtUp, restarts } = subscription.stats()
    const isUnbroken = connected && caughtUp && restarts === connections
    connections = restarts
    if (!isUnbroken) kept.clear()
    return isUnbroken
  }

  return {
    async check(question, signal) {
      if (closing.signal.aborted || !isListening()) return ask(question, signal)
      const patient = keyOf(question.orgId, question.patientId)
      const answers = kept.get(patient) ?? new Map<string, KeptAnswer>()
      const known = answers.get(question.code)
      if (known !== undefined && known.until > now().getTime()) return known.answer
      kept.set(patient, answers)
      const until = now().getTime() + lifetimeMs
      const answer = await ask(question, signal)
      // If the patient's entry was removed or replaced, a decision came meanwhile, and this answer may be older.
      const isStill = isListening() && kept.peek(patient) === answers
      if (isStill && answer !== 'unavailable') answers.set(question.code, { answer, until })
      return answer
    },
    async close() {
      closing.abort()
      kept.clear()
      await subscription.ended.catch(() => undefined)
    },
  }
}

function keyOf(orgId: string, patientId: string): string {
  return `${orgId}/${patientId}`.toLowerCase()
}

function patientOf({ data }: RecordedEvent): string | undefined {
  if (typeof data !== 'object' || data === null || !('org_id' in data) || !('patient_id' in data)) return undefined
  const { org_id: orgId, patient_id: patientId } = data
  return typeof orgId === 'string' && typeof patientId === 'string' ? keyOf(orgId, patientId) : undefined
}
