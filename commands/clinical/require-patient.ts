import { problem } from '../../platform/problems.ts'
import { patientFold, type RegisteredPatient } from '../../streams/patient/state.ts'
import { patientStream } from '../../streams/patient/stream.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'

/**
 * The patient that a body names.
 * @throws Problem `patient-not-found`, for one of another organisation too
 */
export async function requirePatient(
  { store }: Pick<CommandDependencies, 'store'>,
  orgId: string,
  patientId: string,
): Promise<RegisteredPatient> {
  const stream = patientStream(orgId, patientId.toLowerCase())
  const { state } = await store.load(patientFold, stream, { fresh: true })
  if (state.status !== 'registered') throw problem('patient-not-found')
  return state
}
