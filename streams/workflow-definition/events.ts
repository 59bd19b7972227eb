import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { CausingRequest, Id, Instant, OrgId } from '../../engine/aggregates/types.ts'
import { WorkflowName, WorkflowStep } from './steps.ts'

/** A definition is free of PHI. */
export const workflowDefinitionEvents = {
  /** One version. Version n is revision n - 1 of the stream, and never changes. */
  WorkflowDefinitionPublished: defineEvent(
    'WorkflowDefinitionPublished',
    Type.Object({
      workflowDefinitionId: Id,
      organisationId: OrgId,
      name: Type.String(),
      version: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
      startStepId: WorkflowName,
      steps: Type.Array(WorkflowStep),
      request: CausingRequest,
      publishedAt: Instant,
    }),
  ),
} as const

export type WorkflowDefinitionEvent = EventOf<typeof workflowDefinitionEvents>
export type PublishedDefinition = WorkflowDefinitionEvent['data']
