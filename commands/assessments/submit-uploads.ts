import type { AssessmentEvent } from '../../streams/assessment/events.ts'
import { assessments, type AssessmentState } from '../../streams/assessment/aggregate.ts'
import type { StreamRevision } from '../../platform/kit/positions.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import type { Executed } from '../../engine/commands/execute.ts'
import type { AssessmentRouteDependencies } from './dependencies.ts'
import { namedObjects } from './image-key.ts'
import { meetSubmission, submitAssessment } from './submit-assessment.ts'
import { takeUploads } from './take-uploads.ts'

export interface SubmitUploads {
  readonly orgId: TenantId
  readonly assessmentId: string
  readonly request: CausingRequest
  /** Throws if the caller expects another revision than the current one. */
  readonly requireRevision: (revision: StreamRevision) => void
}

/**
 * Submits the uploads of an assessment once.
 * @throws Problem `not-found`, `assessment-not-awaiting-images`, `precondition-failed`, and those of `takeUploads`
 */
export async function submitUploads(
  deps: AssessmentRouteDependencies,
  { orgId, assessmentId, request, requireRevision }: SubmitUploads,
  context: CommandContext,
): Promise<Executed<AssessmentState, AssessmentEvent>> {
  const { configuration, now, newId } = deps
  const command = { request, caseId: newId(), deadlineMs: configuration.assessmentDeadlineSeconds * 1000 }
  return takeUploads(
    deps,
    {
      target: assessments.of(orgId, assessmentId),
      awaited: (state) => {
        const met = meetSubmission({ request, now: now() }, state)
        if (typeof met !== 'string') return met
        return state.status === 'awaiting_images'
          ? { organisationId: orgId, ownerId: assessmentId, images: state.images }
          : undefined
      },
      take: (images, state) => submitAssessment({ ...command, images, now: now() }, state),
      namedObjects,
    },
    requireRevision,
    context,
  )
}
