import type { PatientEvent } from '../../streams/patient/events.ts'
import type { PatientState } from '../../streams/patient/aggregate.ts'
import type { Decision } from '../../engine/commands/decision.ts'

export interface ExpireClaim {
  readonly patientId: string
  readonly claimId: string
  readonly now: Date
}

/**
 * Comes before another patient gets an identifier that this one claimed and did not take. A registration or correction
 * that decided before this event is then refused by its expected revision, however late its append comes. The patient
 * may not exist yet.
 */
export function expireClaim({ patientId, claimId, now }: ExpireClaim, state: PatientState): Decision<PatientEvent> {
  if (state.status === 'revoked') return []
  return [{ type: 'PatientIdentifierClaimExpired', data: { patientId, claimId, expiredAt: now.toISOString() } }]
}
