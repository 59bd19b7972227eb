import { invalidMember, problem, type Problem } from '../../platform/http/problems.ts'
import { patients } from '../../streams/patient/aggregate.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { loadSufficient } from '../../engine/commands/execute.ts'

export interface KnownPatients {
  /** Whether the organisation has a stream about the patient. A consent needs no registration, so the record may be missing. */
  readonly isKnownPatient: (tenant: TenantId, patientId: string) => Promise<boolean>
}

/** Longer than any request takes. A registration that is not revoked by then stays. */
const requestMs = 3_600_000

/**
 * The id of the patient in the member `patient_id` of a body, or in another member. Cached state that shows a
 * registered patient usually suffices: a registration ends only by erasure, and without the key of an erased patient
 * nothing about the patient can be stored. A registration with identifiers is an exception. It is revoked, perhaps by
 * another instance, if an identifier belongs to another patient. Until then no answer has returned its id, but a list
 * may have shown it. So such a registration is read again during its first hour.
 *
 * @throws Problem `patient-not-found`, also for a patient of another organisation
 */
export async function requirePatient(
  { store, now }: Pick<CommandDependencies, 'store' | 'now'>,
  orgId: TenantId,
  patientId: string,
  pointer = '/patient_id',
): Promise<string> {
  const state = await loadSufficient(
    store,
    patients.of(orgId, patientId.toLowerCase()),
    (known) =>
      known.status === 'registered' &&
      (known.person?.identifiers.length === 0 || now().getTime() - Date.parse(known.registeredAt) > requestMs),
  )
  if (state.status !== 'registered') throw unknownPatient(pointer)
  return state.patientId
}

export function unknownPatient(pointer: string): Problem {
  return invalidMember(pointer, 'is not a patient of the organisation', 'unknown-patient', 'patient-not-found')
}

/**
 * For a known patient of a record. An erasure empties the cache. Without the patient's key PHI could not be stored.
 *
 * @throws Problem `subject-erased`
 */
export async function requireLivingPatient(
  { store, vault }: Pick<CommandDependencies, 'store' | 'vault'>,
  orgId: TenantId,
  patientId: string,
): Promise<void> {
  if (vault.isClosed(orgId, patientId)) throw problem('subject-erased')
  const { state } = await store.loadCached(patients.of(orgId, patientId))
  if (state.status === 'registered' && state.person === null) throw problem('subject-erased')
}
