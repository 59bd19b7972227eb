import type { RecordedEvent } from '../../engine/store/events.ts'
import { openEvictingCache, type EvictingCacheOptions } from '../../engine/reads/evicting-cache.ts'
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

export interface ConsentClientOptions extends Pick<EvictingCacheOptions<ConsentAnswer>, 'events' | 'now'> {
  readonly ask: AskConsent
}

export interface ConsentClient {
  /** `unavailable` is not a permission. */
  check(question: ConsentQuestion, signal: AbortSignal): Promise<ConsentAnswer>
  close(): Promise<void>
}

/**
 * Caches answers for at most five minutes, and only while it receives every decision. A decision on `consent.events`
 * removes the cached answers of its patient. Without a live subscription it caches nothing and queries for every check.
 * Only for callers that may act on a consent withdrawn a moment ago. An AI review never decides on cached consent.
 *
 * Rejects if the event store cannot be read.
 */
export async function openConsentClient({ ask, events, now }: ConsentClientOptions): Promise<ConsentClient> {
  const cache = await openEvictingCache<ConsentAnswer>({
    name: 'consent client',
    channel: 'consent.events',
    groupOf: patientOf,
    isKept: (answer) => answer !== 'unavailable',
    events,
    now,
  })
  return {
    check: (question, signal) =>
      cache.get(keyOf(question.orgId, question.patientId), question.code, () => ask(question, signal)),
    close: () => cache.close(),
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
