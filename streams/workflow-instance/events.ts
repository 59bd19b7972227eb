import { Type, type Static } from 'typebox'
import { FindingType } from '../assessment/events.ts'
import { defineEvent, Phi, type EventOf } from '../../engine/store/schema.ts'
import { CausingRequest, Fingerprint, Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'
import { WorkflowName } from '../workflow-definition/steps.ts'

export const WorkflowInstanceStatus = Type.Enum(['running', 'parked', 'completed', 'failed', 'cancelled'])
export type WorkflowInstanceStatus = Static<typeof WorkflowInstanceStatus>

/** Why an instance failed. Each has a fixed message (`contracts/workflows/instance.ts`). */
export const WorkflowFailureCode = Type.Enum([
  'no-next-step',
  'workflow-too-long',
  'no-images-collected',
  'too-many-images',
  'values-too-large',
  'assessment-failed',
])
export type WorkflowFailureCode = Static<typeof WorkflowFailureCode>

const CollectingKind = Type.Enum(['collect-questions', 'collect-images'])
/** The steps that were passed without a stop on the way to this event, in their order. */
const passed = Type.Array(WorkflowName)
/** What a step collected or produced, as the client receives it. */
export const StepOutput = Type.Record(Type.String(), Type.Unknown())

export const workflowInstanceEvents = {
  WorkflowInstanceStarted: defineEvent(
    'WorkflowInstanceStarted',
    Type.Object({
      workflowInstanceId: Id,
      organisationId: OrgId,
      workflowDefinitionId: Id,
      definitionVersion: Type.Integer({ minimum: 1 }),
      caseId: Id,
      patientId: Id,
      /** The product of the token that started it, or of the case that did. */
      productId: Nullable(Id),
      fingerprint: Fingerprint,
      startedAt: Instant,
    }),
  ),
  /** The instance waits for the output of this step. */
  WorkflowStepParked: defineEvent(
    'WorkflowStepParked',
    Type.Object({ workflowInstanceId: Id, stepId: WorkflowName, kind: CollectingKind, passed, parkedAt: Instant }),
  ),
  /** The client supplied the output of the parked step. */
  WorkflowStepAdvanced: defineEvent(
    'WorkflowStepAdvanced',
    Type.Object({
      workflowInstanceId: Id,
      patientId: Id,
      stepId: WorkflowName,
      output: Phi(StepOutput),
      request: CausingRequest,
      advancedAt: Instant,
    }),
    { subject: 'patientId' },
  ),
  /**
   * A request with a key sent the latest output of a step that is not parked. A repeat of it must not advance the step when
   * a cycle parks it again.
   */
  WorkflowAdvanceUnneeded: defineEvent(
    'WorkflowAdvanceUnneeded',
    Type.Object({ workflowInstanceId: Id, stepId: WorkflowName, request: CausingRequest, decidedAt: Instant }),
  ),
  /** An output step computed its values. The next event of the same append completes the instance or requests its effect. */
  WorkflowOutputProduced: defineEvent(
    'WorkflowOutputProduced',
    Type.Object({
      workflowInstanceId: Id,
      patientId: Id,
      stepId: WorkflowName,
      passed,
      values: Phi(StepOutput),
      producedAt: Instant,
    }),
    { subject: 'patientId' },
  ),
  /** The output step ends in an assessment. The case decides which one. */
  WorkflowAssessmentRequested: defineEvent(
    'WorkflowAssessmentRequested',
    Type.Object({
      workflowInstanceId: Id,
      caseId: Id,
      stepId: WorkflowName,
      productId: Id,
      findingType: FindingType,
      imageIds: Type.Array(Id),
      requestedAt: Instant,
    }),
  ),
  WorkflowAssessmentAssigned: defineEvent(
    'WorkflowAssessmentAssigned',
    Type.Object({ workflowInstanceId: Id, assessmentId: Id, assignedAt: Instant }),
  ),
  WorkflowInstanceCompleted: defineEvent(
    'WorkflowInstanceCompleted',
    Type.Object({ workflowInstanceId: Id, stepId: WorkflowName, completedAt: Instant }),
  ),
  WorkflowInstanceFailed: defineEvent(
    'WorkflowInstanceFailed',
    Type.Object({
      workflowInstanceId: Id,
      /** The step that the instance could not leave or enter. */
      stepId: WorkflowName,
      passed,
      code: WorkflowFailureCode,
      failedAt: Instant,
    }),
  ),
  WorkflowInstanceCancelled: defineEvent(
    'WorkflowInstanceCancelled',
    Type.Object({
      workflowInstanceId: Id,
      reason: Type.Enum(['requested', 'case_closed', 'subject_erased']),
      request: CausingRequest,
      cancelledAt: Instant,
    }),
  ),
} as const

export type WorkflowInstanceEvent = EventOf<typeof workflowInstanceEvents>
