import { invalidMember } from '../../platform/http/problems.ts'
import { requireOpenCase } from '../clinical/require-open-case.ts'
import { requirePatient } from '../clinical/require-patient.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import type { DeclareImageBody } from './bodies.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/**
 * The patient of a declared image. With a case, the patient of the case.
 *
 * @throws Problem `case-closed`, `case-not-found`, `patient-not-found` (also for those of another organisation), `validation-failed`
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
  const { patientId: ofCase } = await requireOpenCase(deps, orgId, caseId)
  if (patientId === undefined) return ofCase
  const named = await requirePatient(deps, orgId, patientId)
  if (named !== ofCase) throw refused('is not the patient of the case', 'other-patient')
  return named
}

function refused(detail: string, code: string) {
  return invalidMember('/patient_id', detail, code)
}
