import { v5 } from 'uuid'
import { problem } from '../../platform/http/problems.ts'
import { AppendOutcomeUnknownError } from '../../streams/store/errors.ts'
import type { StreamRevision } from '../../platform/kit/positions.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import type { PatientEvent } from '../../streams/patient/events.ts'
import { patients, type PatientState, type RegisteredPatient } from '../../streams/patient/aggregate.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute, type Executed } from '../handling/execute.ts'
import { correctPatient, undoCorrection, type CorrectPatient } from './correct-patient.ts'
import { identifierReservations, identifierConflict, vacateIdentifiers, without } from './identifier-reservations.ts'

type Corrected = Omit<Executed<RegisteredPatient, PatientEvent>, 'state'> & { readonly state: RegisteredPatient }

/**
 * Corrects a patient. What is added to the identifiers is claimed before the correction, by the very state that it is
 * decided on, and confirmed after it; what is dropped is free for others then.
 *
 * @param requireRevision throws when the caller expects another revision than the one that is changed, or left as it is
 * @throws Problem `not-found`, `subject-erased`, `patient-identifier-conflict`, and what `requireRevision` throws
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
      await reservations.take(without(listed, registered(before).identifiers ?? []), { turn: turn++ })
    })
    // A caller that knows another version does not know that there is nothing to change.
    if (done.events.length === 0) requireRevision(done.revision)
    const was = registered(before)
    const after = registered(done.state)
    const lost = await reservations.keep()
    if (lost.length > 0) {
      const undo = { ...context, commandId: v5('undo', context.commandId) }
      const undone = await execute(
        store,
        target,
        (state) => undoCorrection({ before: was, after, lost, now: deps.now() }, state),
        undo,
      )
      // Nothing to undo: somebody else dropped them since.
      if (undone.events.length > 0) throw identifierConflict(listed, lost)
    }
    if (done.events.length > 0)
      await vacateIdentifiers(deps, orgId, without(was.identifiers ?? [], after.identifiers ?? []), context)
    return { ...done, state: after }
  } catch (error) {
    // The correction may have happened: the claims stay, and whoever meets them looks at the patient.
    if (!(error instanceof AppendOutcomeUnknownError)) await reservations.giveBack()
    throw error
  }
}

function registered(state: PatientState): RegisteredPatient {
  if (state.status !== 'registered') throw problem('not-found')
  return state
}
