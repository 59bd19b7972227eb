import { isDefined, type ConsentTypeState } from '../../streams/consent-type/aggregate.ts'
import { keyedDecision, type ConsentState, type RecordedConsent } from '../../streams/consent/aggregate.ts'
import type { ConsentEvent } from '../../streams/consent/events.ts'
import { refused, repeated, type Decision } from '../handling/decision.ts'

type Given = 'consentId' | 'patientId' | 'textVersionId' | 'decision' | 'recordedBy' | 'fingerprint'

export interface RecordConsent extends Pick<RecordedConsent, Given> {
  readonly consentType: ConsentTypeState
  /** Null: now. */
  readonly recordedAt: Date | null
  readonly now: Date
}

export type ConsentRefusal =
  | 'consent-type-not-found'
  | 'text-of-other-type'
  | 'text-not-in-effect'
  | 'recorded-in-future'
  | 'idempotency-key-reused'

/**
 * Any decision may be recorded at any time: a withdrawal is never refused, and decisions on paper may arrive late. Only
 * `granted` needs a text that was in effect (specification 3.5).
 */
export function recordConsent(command: RecordConsent, state: ConsentState): Decision<ConsentEvent, ConsentRefusal> {
  const { consentType, recordedAt, now, ...given } = command
  if (!isDefined(consentType)) return refused('consent-type-not-found')
  const existing = keyedDecision(state, given.consentId)
  if (existing !== undefined) return repeated(given, existing)

  const version = consentType.textVersions.find(({ textVersionId }) => textVersionId === given.textVersionId)
  if (version === undefined) return refused('text-of-other-type')
  const isInEffect = Date.parse(version.effectiveFrom) <= now.getTime()
  if (given.decision === 'granted' && !isInEffect) return refused('text-not-in-effect')
  if (recordedAt !== null && recordedAt > now) return refused('recorded-in-future')
  const { organisationId, consentTypeId, code: consentTypeCode } = consentType
  const data = {
    ...given,
    organisationId,
    consentTypeId,
    consentTypeCode,
    textSha256: version.contentHash,
    recordedAt: (recordedAt ?? now).toISOString(),
    createdAt: now.toISOString(),
  }
  return [{ type: 'ConsentRecorded', data }]
}
