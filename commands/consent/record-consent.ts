import type { ConsentEvent, Decision as ConsentDecision } from '../../streams/consent/events.ts'
import { keyedDecision, type ConsentState } from '../../streams/consent/aggregate.ts'
import type { DefinedConsentType } from '../../streams/consent-type/aggregate.ts'
import { refuse, repeated, type Decision } from '../handling/decision.ts'

export interface RecordConsent {
  readonly consentId: string
  readonly patientId: string
  readonly consentType: DefinedConsentType
  readonly textVersionId: string
  readonly decision: ConsentDecision
  readonly recordedBy: string
  /** Null: now. */
  readonly recordedAt: Date | null
  readonly now: Date
  readonly fingerprint: string | null
}

/**
 * Any decision may be recorded at any time: a withdrawal is never refused, and facts may arrive from paper. Only
 * `granted` needs a text that was in effect (contract section 3, line 261).
 */
export function recordConsent(command: RecordConsent, state: ConsentState): Decision<ConsentEvent> {
  const existing = keyedDecision(state, command.consentId)
  if (existing !== undefined) return repeated(command, existing)

  const { consentType, textVersionId, now } = command
  const version = consentType.textVersions.find((candidate) => candidate.textVersionId === textVersionId)
  if (version === undefined) {
    return refuse('consent-text-mismatch', {
      errors: [
        {
          pointer: '/text_version_id',
          detail: 'is not a text version of this consent type',
          code: 'consent-text-mismatch',
        },
      ],
    })
  }
  if (command.decision === 'granted' && Date.parse(version.effectiveFrom) > now.getTime()) {
    return refuse('text-version-not-effective', {
      errors: [{ pointer: '/text_version_id', detail: 'is not in effect yet', code: 'text-version-not-effective' }],
    })
  }
  if (command.recordedAt !== null && command.recordedAt.getTime() > now.getTime()) {
    return refuse('validation-failed', {
      errors: [{ pointer: '/recorded_at', detail: 'must not be in the future', code: 'in-the-future' }],
    })
  }
  return [
    {
      type: 'ConsentRecorded',
      data: {
        consentId: command.consentId,
        organisationId: consentType.organisationId,
        patientId: command.patientId,
        consentTypeId: consentType.consentTypeId,
        consentTypeCode: consentType.code,
        textVersionId,
        textSha256: version.contentHash,
        decision: command.decision,
        recordedAt: (command.recordedAt ?? now).toISOString(),
        recordedBy: command.recordedBy,
        createdAt: now.toISOString(),
        fingerprint: command.fingerprint,
      },
    },
  ]
}
