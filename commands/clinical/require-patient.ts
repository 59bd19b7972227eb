import { problem } from '../../platform/problems.ts'
import { patientFold } from '../../streams/patient/state.ts'
import { patientStream } from '../../streams/patient/stream.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'

/**
 * The id of the patient that a body names. A patient who was registered stays so until erased, and what is about an erased
 * one is kept from being written in the clear by the vault: so a patient known here is not read again.
 *
 * @throws Problem `patient-not-found`, for one of another organisation too
 */
export async function requirePatient({ store }: Pick<CommandDependencies, 'store'>, orgId: string, patientId: string): Promise<string> {
  const stream = patientStream(orgId, patientId.toLowerCase())
  let { state } = store.presume(patientFold, stream)
  if (state.status !== 'registered') ({ state } = await store.load(patientFold, stream, { fresh: true }))
  if (state.status !== 'registered') throw problem('patient-not-found')
  return state.patientId
}
