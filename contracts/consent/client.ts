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
 * Asks the consent service. It must answer as `GET /v1/consent-records` does: with everything recorded before it was
 * asked, or `unavailable`. An answer of a read model that is behind would be kept after the decision that it lacks.
 */
export type AskConsent = (question: ConsentQuestion, signal: AbortSignal) => Promise<ConsentAnswer>

export interface ConsentClientOptions {
  readonly ask: AskConsent
  readonly events: Pick<EventStore, 'readLast' | 'subscribeToStream'>
  readonly now: () => Date
  /** Patients whose answers are kept. Default 10,000. */
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
 * Keeps answers for five minutes at most, and for as long only as it hears of every decision: a decision on `consent.events`
 * drops what is kept of its patient, and without a live subscription nothing is kept and every check is asked. For whoever
 * may act on a consent that was withdrawn a moment ago; what an AI review decides on is never cached (T24).
 *
 * Rejects where the event store cannot be read.
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
    // Whoever wrote it may have meant any patient.
    onUndecodable: () => kept.clear(),
    // It never connects again, so nothing is kept any more.
    onError: () => kept.clear(),
  })
  let connections = subscription.stats().restarts

  /** Whether every decision is heard of now, and was since the last time that this was asked; else all is forgotten. */
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
      // Other answers of the patient now, or none: a decision came in between, and this answer may be older than it.
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
