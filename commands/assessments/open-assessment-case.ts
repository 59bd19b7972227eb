import { v5 } from 'uuid'
import type { Position } from '../../platform/kit/positions.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import { assessments, type AssessmentState, type ProcessingAssessment } from '../../streams/assessment/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { openCase } from '../clinical/open-case.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute } from '../../engine/commands/execute.ts'
import { requestReview } from './request-review.ts'

/**
 * Opens the case before the route answers. After a crash the process does, a moment later. Also requests the review of an
 * assessment that an older version submitted. Returns the state after that, and the position of the case.
 */
export async function openCaseAndRequestReview(
  deps: Pick<CommandDependencies, 'store'>,
  assessment: ProcessingAssessment,
  context: CommandContext,
): Promise<{ readonly state: AssessmentState; readonly opened: Position | undefined }> {
  const commandOf = (name: string) => ({ ...context, commandId: v5(name, context.commandId) })
  const opened = await openAssessmentCase(deps, assessment, commandOf('open-case'))
  if (assessment.isReviewRequested) return { state: assessment, opened }
  const { organisationId, assessmentId, submittedAt } = assessment
  const { state } = await execute(
    deps.store,
    assessments.of(organisationId, assessmentId),
    (current) => requestReview({ isCaseOpen: true, now: new Date(submittedAt) }, current),
    commandOf('request-review'),
  )
  return { state, opened }
}

/** Opens the case under the id in the assessment. */
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
