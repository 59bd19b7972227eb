import { invalidMember } from '../../platform/http/problems.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { requirePatient } from '../clinical/require-patient.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import type { DeclareImageBody } from './bodies.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/**
 * The patient of a declared image. With a case, the patient of the case.
 *
 * @throws Problem `case-not-found`, `patient-not-found` (also for those of another organisation), `validation-failed`
 */
export async function patientOfImage(
  deps: CommandDependencies,
  orgId: TenantId,
  body: DeclareImageBody,
): Promise<string> {
  const { case_id: caseId, patient_id: patientId } = body
  if (caseId === undefined && patientId === undefined)
    throw refused('one of case_id and patient_id is required', 'one-of')
  if (caseId === undefined) return requirePatient(deps, orgId, patientId ?? '')
  const ofCase = await patientOfCase(deps, orgId, caseId.toLowerCase())
  if (patientId === undefined) return ofCase
  const named = await requirePatient(deps, orgId, patientId)
  if (named !== ofCase) throw refused('is not the patient of the case', 'other-patient')
  return named
}

/** An opened case stays open, so cached state is enough. */
async function patientOfCase({ store }: CommandDependencies, orgId: TenantId, caseId: string): Promise<string> {
  const target = cases.of(orgId, caseId)
  let { state } = store.presume(target)
  if (state.status === 'absent') ({ state } = await store.load(target))
  if (state.status === 'absent')
    throw invalidMember('/case_id', 'is not a case of the organisation', 'unknown-case', 'case-not-found')
  return state.patientId
}

function refused(detail: string, code: string) {
  return invalidMember('/patient_id', detail, code)
}
