import type { PatientEvent, Person } from '../../streams/patient/events.ts'
import type { PatientState } from '../../streams/patient/aggregate.ts'
import { refused, repeated, type Decision } from '../../engine/commands/decision.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

export interface RegisterPatient {
  readonly patientId: string
  readonly organisationId: TenantId
  readonly person: Person
  readonly now: Date
  readonly fingerprint: string | null
}

export function registerPatient(
  command: RegisterPatient,
  state: PatientState,
): Decision<PatientEvent, 'registration-revoked' | 'idempotency-key-reused'> {
  if (state.status === 'registered') return repeated(command, state)
  if (state.status === 'revoked') return refused('registration-revoked')
  const { now, ...data } = command
  return [{ type: 'PatientRegistered', data: { ...data, registeredAt: now.toISOString() } }]
}

/** Undoes a registration if one of its identifiers belongs to another patient. */
export function revokeRegistration(
  command: { patientId: string; now: Date },
  state: PatientState,
): Decision<PatientEvent> {
  if (state.status !== 'registered') return []
  const data = {
    patientId: command.patientId,
    reason: 'identifier_conflict' as const,
    revokedAt: command.now.toISOString(),
  }
  return [{ type: 'PatientRegistrationRevoked', data }]
}
