import type { Position } from '../../platform/kit/positions.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import type { ProcessingAssessment } from '../../streams/assessment/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { openCase } from '../clinical/open-case.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute } from '../../engine/commands/execute.ts'

/**
 * Opens the case under the id in the assessment. The route calls this before it answers; after a crash, the process.
 */
export async function openAssessmentCase(
  { store }: Pick<CommandDependencies, 'store'>,
  assessment: ProcessingAssessment,
  context: CommandContext,
): Promise<Position | undefined> {
  const { organisationId, caseId, patientId, productId, assessmentId, externalReference, submittedAt } = assessment
  const command = {
    caseId,
    organisationId,
    patientId,
    productId,
    assessmentId,
    externalReference,
    clinicalContext: null,
    customFields: null,
    workflow: null,
    now: new Date(submittedAt),
    fingerprint: null,
  }
  const target = { ...cases.of(organisationId, caseId), isNew: true }
  const { reached } = await execute(store, target, (state) => openCase(command, state), context)
  return reached
}
