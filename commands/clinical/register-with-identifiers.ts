import { v5 } from 'uuid'
import { AppendOutcomeUnknownError } from '../../engine/store/errors.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import type { PatientEvent } from '../../streams/patient/events.ts'
import { patients, type PatientState, type RegisteredPatient } from '../../streams/patient/aggregate.ts'
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
 * from the same state that decides it, confirmed after it, released when it is refused.
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
  // A repeat of a registration claims nothing, so with identifiers the state is read first.
  const target = { ...patients.of(orgId, patientId), isNew: identifiers.length === 0 }
  const reservations = identifierReservations(deps, { orgId, patientId, fingerprint, listed: identifiers }, context)
  let turn = 0
  try {
    const decide = (state: PatientState) => answering(registerPatient(command, state))
    const done = await execute(deps.store, target, decide, context, (revision) =>
      // In an empty stream no claim has expired. So many repeats at once share one claim.
      reservations.take(identifiers, revision === 'no_stream' ? undefined : { turn: turn++ }),
    )
    if (done.state.status !== 'registered') throw identifierConflict(identifiers, [])
    // Nothing is lost if the end of a claim came into this stream first (decision 0047).
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
