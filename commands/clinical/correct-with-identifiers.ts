import { v5 } from 'uuid'
import { problem } from '../../platform/http/problems.ts'
import { AppendOutcomeUnknownError } from '../../engine/store/errors.ts'
import type { StreamRevision } from '../../platform/kit/positions.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import type { PatientEvent } from '../../streams/patient/events.ts'
import { patients, type PatientState, type RegisteredPatient } from '../../streams/patient/aggregate.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute, type Executed } from '../../engine/commands/execute.ts'
import { correctPatient, undoCorrection, type CorrectPatient } from './correct-patient.ts'
import { identifierReservations, identifierConflict, vacateIdentifiers, without } from './identifier-reservations.ts'

type Corrected = Omit<Executed<RegisteredPatient, PatientEvent>, 'state'> & { readonly state: RegisteredPatient }

/**
 * Corrects a patient. Added identifiers are claimed before the correction, from the same state that decides it, and
 * confirmed after it. Removed identifiers are then free for others.
 *
 * @param requireRevision throws if the caller expects another revision than the current one
 * @throws Problem `not-found`, `subject-erased`, `patient-identifier-conflict`, and the problem of `requireRevision`
 */
export async function correctWithIdentifiers(
  deps: CommandDependencies,
  { orgId, patientId }: { readonly orgId: TenantId; readonly patientId: string },
  command: CorrectPatient,
  context: CommandContext,
  requireRevision: (revision: StreamRevision) => void,
): Promise<Corrected> {
  const { store } = deps
  const listed = command.identifiers ?? []
  const target = patients.of(orgId, patientId)
  const reservations = identifierReservations(deps, { orgId, patientId, fingerprint: null, listed }, context)
  let before: PatientState = target.fold.initialState
  let turn = 0
  try {
    const decide = (state: PatientState) => {
      before = state
      return correctPatient(command, state)
    }
    const done = await execute(store, target, decide, context, async (revision) => {
      requireRevision(revision)
      await reservations.take(without(listed, registered(before).person?.identifiers ?? []), { turn: turn++ })
    })
    // The caller may have another version, so compare the revision also if nothing changes.
    if (done.events.length === 0) requireRevision(done.revision)
    const was = registered(before)
    const after = registered(done.state)
    // Nothing is lost if the end of a claim came into this stream first (decision 0047).
    const lost = await reservations.keep()
    if (lost.length > 0) {
      const undo = { ...context, commandId: v5('undo', context.commandId) }
      const undone = await execute(
        store,
        target,
        (state) => undoCorrection({ before: was, after, lost, now: deps.now() }, state),
        undo,
      )
      // Without events there is nothing to undo: another request removed the lost identifiers meanwhile.
      if (undone.events.length > 0) throw identifierConflict(listed, lost)
    }
    if (done.events.length > 0)
      await vacateIdentifiers(
        deps,
        orgId,
        without(was.person?.identifiers ?? [], after.person?.identifiers ?? []),
        context,
      )
    return { ...done, state: after }
  } catch (error) {
    // After an unknown outcome the claims stay. A later request for such an identifier checks the patient.
    if (!(error instanceof AppendOutcomeUnknownError)) await reservations.giveBack()
    throw error
  }
}

function registered(state: PatientState): RegisteredPatient {
  if (state.status !== 'registered') throw problem('not-found')
  return state
}
