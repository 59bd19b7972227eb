import { Type } from 'typebox'
import { parseOwnedStream } from '../../engine/aggregates/aggregate.ts'
import type { WorkflowDefinitionEvent } from '../../streams/workflow-definition/events.ts'
import { StepKind, WorkflowStep } from '../../streams/workflow-definition/steps.ts'
import {
  StepOutput,
  WorkflowFailureCode,
  WorkflowInstanceStatus,
  type WorkflowInstanceEvent,
} from '../../streams/workflow-instance/events.ts'
import { defineProjector, defineTable, sealed, type RowChange } from '../../engine/projections/projector.ts'
import { insertRow, patchRow, upsertRow, type InsertOf } from '../../engine/projections/row-changes.ts'

const version = {
  workflow_definition_id: 'uuid',
  org_id: 'uuid',
  name: 'text',
  version: 'integer',
  start_step_id: 'text',
  published_at: 'timestamptz',
  stream_revision: 'bigint',
} as const

/** The newest version of each definition. */
export const workflowDefinitionsTable = defineTable({
  name: 'workflow_definitions',
  columns: version,
  primaryKey: ['workflow_definition_id'],
  indexes: [{ columns: ['org_id', 'published_at', 'workflow_definition_id'] }],
})

export const workflowVersionsTable = defineTable({
  name: 'workflow_versions',
  columns: { ...version, steps: { type: 'jsonb', schema: Type.Array(WorkflowStep) } },
  primaryKey: ['workflow_definition_id', 'version'],
})

export const workflowInstancesTable = defineTable({
  name: 'workflow_instances',
  columns: {
    workflow_instance_id: 'uuid',
    org_id: 'uuid',
    workflow_definition_id: 'uuid',
    definition_version: 'integer',
    case_id: 'uuid',
    patient_id: 'uuid',
    state: { type: 'text', values: WorkflowInstanceStatus.enum },
    parked_step_id: { type: 'text', nullable: true },
    parked_step_kind: { type: 'text', values: StepKind.enum, nullable: true },
    parked_at: { type: 'timestamptz', nullable: true },
    assessment_id: { type: 'uuid', nullable: true },
    failure_code: { type: 'text', values: WorkflowFailureCode.enum, nullable: true },
    started_at: 'timestamptz',
    updated_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['workflow_instance_id'],
  indexes: [
    { columns: ['org_id', 'started_at', 'workflow_instance_id'] },
    { columns: ['org_id', 'case_id', 'started_at', 'workflow_instance_id'] },
    { columns: ['org_id', 'state', 'started_at', 'workflow_instance_id'] },
  ],
})

/** The latest output of each step: what a client supplied, or the values that an output step computed. */
export const workflowOutputsTable = defineTable({
  name: 'workflow_outputs',
  columns: {
    workflow_instance_id: 'uuid',
    step_id: 'text',
    org_id: 'uuid',
    output: sealed(StepOutput),
    values: sealed(StepOutput),
  },
  primaryKey: ['workflow_instance_id', 'step_id'],
})

export const workflowsProjector = defineProjector<WorkflowDefinitionEvent | WorkflowInstanceEvent>()({
  name: 'workflows',
  version: 4,
  tables: [workflowDefinitionsTable, workflowVersionsTable, workflowInstancesTable, workflowOutputsTable],
  handlers: {
    WorkflowDefinitionPublished: ({ data, revision }) => {
      const row = { ...data, orgId: data.organisationId, streamRevision: revision }
      return [upsertRow(workflowDefinitionsTable, row), insertRow(workflowVersionsTable, row)]
    },
    WorkflowInstanceStarted: ({ data, revision }) => [
      insertRow(workflowInstancesTable, {
        ...data,
        orgId: data.organisationId,
        state: 'running',
        updatedAt: data.startedAt,
        streamRevision: revision,
      }),
    ],
    WorkflowStepParked: ({ data, revision }) => [
      patchRow(workflowInstancesTable, {
        workflowInstanceId: data.workflowInstanceId,
        state: 'parked',
        parkedStepId: data.stepId,
        parkedStepKind: data.kind,
        parkedAt: data.parkedAt,
        updatedAt: data.parkedAt,
        streamRevision: revision,
      }),
    ],
    WorkflowStepAdvanced: ({ data, revision, stream }) => [
      outputRow(stream, data, { output: data.output }),
      left(data.workflowInstanceId, 'running', data.advancedAt, revision),
    ],
    // Only the version of the record changes.
    WorkflowAdvanceUnneeded: ({ data: { workflowInstanceId }, revision }) => [
      patchRow(workflowInstancesTable, { workflowInstanceId, streamRevision: revision }),
    ],
    WorkflowOutputProduced: ({ data, revision, stream }) => [
      outputRow(stream, data, { values: data.values }),
      left(data.workflowInstanceId, 'running', data.producedAt, revision),
    ],
    WorkflowAssessmentRequested: ({ data, revision }) => [
      left(data.workflowInstanceId, 'running', data.requestedAt, revision),
    ],
    WorkflowAssessmentAssigned: ({ data: { workflowInstanceId, assessmentId, assignedAt }, revision }) => [
      patchRow(workflowInstancesTable, {
        workflowInstanceId,
        assessmentId,
        updatedAt: assignedAt,
        streamRevision: revision,
      }),
    ],
    WorkflowInstanceCompleted: ({ data, revision }) => [
      left(data.workflowInstanceId, 'completed', data.completedAt, revision),
    ],
    WorkflowInstanceFailed: ({ data: { workflowInstanceId, code, failedAt }, revision }) => [
      patchRow(workflowInstancesTable, { workflowInstanceId, failureCode: code }),
      left(workflowInstanceId, 'failed', failedAt, revision),
    ],
    WorkflowInstanceCancelled: ({ data, revision }) => [
      left(data.workflowInstanceId, 'cancelled', data.cancelledAt, revision),
    ],
  },
})

/** The instance waits at no step any more. */
function left(
  workflowInstanceId: string,
  state: WorkflowInstanceStatus,
  updatedAt: string,
  streamRevision: bigint,
): RowChange {
  const none = { parkedStepId: null, parkedStepKind: null, parkedAt: null }
  return patchRow(workflowInstancesTable, { workflowInstanceId, state, ...none, updatedAt, streamRevision })
}

interface StepOfInstance {
  readonly workflowInstanceId: string
  readonly stepId: string
}

function outputRow(
  stream: string,
  { workflowInstanceId, stepId }: StepOfInstance,
  given: Pick<InsertOf<typeof workflowOutputsTable>, 'output' | 'values'>,
): RowChange {
  const { orgId } = parseOwnedStream(stream)
  return upsertRow(workflowOutputsTable, { workflowInstanceId, stepId, orgId, ...given })
}
