import { isDefined, type ConsentTypeState } from '../../streams/consent-type/aggregate.ts'
import { keyedDecision, type ConsentState, type RecordedConsent } from '../../streams/consent/aggregate.ts'
import type { ConsentEvent } from '../../streams/consent/events.ts'
import { refused, repeated, type Decision } from '../../engine/commands/decision.ts'

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

/** The clocks of callers differ. An instant that is at most this far ahead of the server counts as now, in milliseconds. */
const clockDifferenceMs = 60_000

/**
 * Any decision may be recorded at any time: a withdrawal is never refused, and decisions on paper may arrive late. Only
 * `granted` needs a text: it was in effect at the instant of the decision (specification 3.5).
 *
 * The latest decision is in force. The clock of another server may have been ahead when it recorded the decision in force,
 * or this clock was set back. A decision of now comes after it all the same: a withdrawal must not wait for a clock.
 */
export function recordConsent(command: RecordConsent, state: ConsentState): Decision<ConsentEvent, ConsentRefusal> {
  const { consentType, recordedAt, now, ...given } = command
  if (!isDefined(consentType)) return refused('consent-type-not-found')
  const existing = keyedDecision(state, given.consentId)
  if (existing !== undefined) return repeated(given, existing)

  const version = consentType.textVersions.find(({ textVersionId }) => textVersionId === given.textVersionId)
  if (version === undefined) return refused('text-of-other-type')
  const aheadMs = recordedAt === null ? 0 : recordedAt.getTime() - now.getTime()
  if (aheadMs > clockDifferenceMs) return refused('recorded-in-future')
  const isOfNow = recordedAt === null || aheadMs > 0
  const statedAt = isOfNow ? now : recordedAt
  const isInEffect = Date.parse(version.effectiveFrom) <= statedAt.getTime()
  if (given.decision === 'granted' && !isInEffect) return refused('text-not-in-effect')
  const { organisationId, consentTypeId, code: consentTypeCode } = consentType
  const inForceAt = Date.parse(state.inForce.get(consentTypeCode)?.recordedAt ?? '')
  const decidedAt = isOfNow && inForceAt > now.getTime() ? new Date(inForceAt) : statedAt
  const data = {
    ...given,
    organisationId,
    consentTypeId,
    consentTypeCode,
    textSha256: version.contentHash,
    recordedAt: decidedAt.toISOString(),
    createdAt: now.toISOString(),
  }
  return [{ type: 'ConsentRecorded', data }]
}
