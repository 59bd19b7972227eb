import { v5 } from 'uuid'
import { AppendOutcomeUnknownError } from '../../engine/store/errors.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import type { PatientEvent } from '../../streams/patient/events.ts'
import { patients, type RegisteredPatient } from '../../streams/patient/aggregate.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute, type Executed } from '../../engine/commands/execute.ts'
import { answeringRefusals } from '../../engine/commands/refusals.ts'
import { identifierReservations, identifierConflict } from './identifier-reservations.ts'
import { registerPatient, revokeRegistration, type RegisterPatient } from './register-patient.ts'

const answering = answeringRefusals({
  'registration-revoked': {
    code: 'patient-identifier-conflict',
    member: 'identifiers',
    detail: 'contains an identifier of another patient',
    rule: 'other-patient',
  },
})

type Registered = Omit<Executed<RegisteredPatient, PatientEvent>, 'state'> & { readonly state: RegisteredPatient }

/**
 * Registers a patient. Reservations keep each (organisation, scheme, value) unique: claimed before the registration,
 * confirmed after it, released when it is refused.
 *
 * @throws Problem `patient-identifier-conflict`, `idempotency-key-reused`
 */
export async function registerWithIdentifiers(
  deps: CommandDependencies,
  orgId: TenantId,
  command: RegisterPatient,
  context: CommandContext,
): Promise<Registered> {
  const { patientId, fingerprint } = command
  const { identifiers } = command.person
  const target = { ...patients.of(orgId, patientId), isNew: true }
  const reservations = identifierReservations(deps, { orgId, patientId, fingerprint, listed: identifiers }, context)
  // A repeat of a registration claims nothing. Without identifiers there is nothing to claim.
  const isReserving = identifiers.length > 0 && (await deps.store.loadCached(target)).state.status === 'absent'
  try {
    if (isReserving) await reservations.take(identifiers)
    const done = await execute(deps.store, target, (state) => answering(registerPatient(command, state)), context)
    if (done.state.status !== 'registered') throw identifierConflict(identifiers, [])
    const lost = await reservations.keep()
    if (lost.length === 0) return { ...done, state: done.state }
    const revoke = { ...context, commandId: v5('revoke', context.commandId) }
    await execute(deps.store, target, (state) => revokeRegistration(command, state), revoke)
    throw identifierConflict(identifiers, lost)
  } catch (error) {
    // After an unknown outcome the claims stay. A later request for such an identifier checks the patient.
    if (!(error instanceof AppendOutcomeUnknownError)) await reservations.giveBack()
    throw error
  }
}
