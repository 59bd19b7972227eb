import { invalidMember } from '../../platform/http/problems.ts'
import { patients } from '../../streams/patient/aggregate.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/** Longer than any request takes: what it registered and has not revoked by then, it never will. */
const requestMs = 3_600_000

/**
 * The id of the patient that a body names, by its member `patient_id`. A patient who was registered stays so until erased, and what is about an erased
 * one is kept from being written in the clear by the vault: so a patient known here is not read again. All but one: a
 * registration with identifiers may lose one of them before it is answered, and is revoked then, perhaps by another
 * instance. Nobody was told its id, but a list may have shown it meanwhile.
 *
 * @throws Problem `patient-not-found`, for one of another organisation too
 */
export async function requirePatient(
  { store, now }: Pick<CommandDependencies, 'store' | 'now'>,
  orgId: TenantId,
  patientId: string,
): Promise<string> {
  const target = patients.of(orgId, patientId.toLowerCase())
  let { state } = store.presume(target)
  const isCertain =
    state.status === 'registered' &&
    (state.identifiers?.length === 0 || now().getTime() - Date.parse(state.registeredAt) > requestMs)
  if (!isCertain) ({ state } = await store.load(target))
  if (state.status !== 'registered')
    throw invalidMember('/patient_id', 'names no patient of the organisation', 'unknown-patient', 'patient-not-found')
  return state.patientId
}
