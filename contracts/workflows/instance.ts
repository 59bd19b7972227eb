import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { StepKind, WorkflowName } from '../../streams/workflow-definition/steps.ts'
import {
  WorkflowFailureCode,
  WorkflowInstanceStatus,
  type WorkflowFailureCode as FailureCode,
} from '../../streams/workflow-instance/events.ts'
import { toRecord, type ValuesOf } from '../records.ts'

const FreeForm = Type.Record(Type.String(), Type.Unknown())

const ParkedStep = Type.Object({
  step_id: WorkflowName,
  kind: StepKind,
  config: Type.Record(Type.String(), Type.Unknown(), { description: 'As in the definition' }),
  parked_at: Instant,
})
export type ParkedStep = Static<typeof ParkedStep>

const head = {
  id: Uuid,
  workflow_definition_id: Uuid,
  definition_version: Type.Integer({ minimum: 1 }),
  case_id: Uuid,
  state: WorkflowInstanceStatus,
  parked_step: Nullable(ParkedStep),
}
const tail = {
  assessment_id: Nullable(Uuid),
  error: Nullable(Type.Object({ code: WorkflowFailureCode, message: Type.String() })),
  created_at: Instant,
  updated_at: Instant,
}

/** Specification 2.3 and 3.5. `error` and `assessment_id` are additions. */
export const WorkflowInstanceRecord = Type.Object(
  {
    ...head,
    outputs: Type.Record(Type.String(), Nullable(FreeForm), {
      description: 'The latest output of each step. Null after the data of the patient was erased',
    }),
    ...tail,
  },
  { $id: 'WorkflowInstanceRecord' },
)
export type WorkflowInstanceRecord = Static<typeof WorkflowInstanceRecord>

const messages: Readonly<Record<FailureCode, string>> = {
  'no-next-step': 'No branch of the step fits the answers.',
  'workflow-too-long': 'The instance has entered 1,000 steps.',
  'no-images-collected': 'The assessment needs an image, and no step has collected one.',
  'too-many-images': 'An assessment takes at most ten images.',
  'assessment-failed': 'The assessment of the instance failed. Its record contains the error.',
}

type InstanceValues = Omit<ValuesOf<typeof WorkflowInstanceRecord>, 'id' | 'error' | 'createdAt'> & {
  readonly workflowInstanceId: string
  readonly failureCode: FailureCode | null
  readonly startedAt: string
}

export function toWorkflowInstanceRecord(instance: InstanceValues): WorkflowInstanceRecord {
  return toRecord(WorkflowInstanceRecord, { ...instance, ...membersOf(instance) })
}

/** An item of the list. The outputs of one instance may have megabytes. */
export const WorkflowInstanceSummary = Type.Object({ ...head, ...tail }, { $id: 'WorkflowInstanceSummary' })
export type WorkflowInstanceSummary = Static<typeof WorkflowInstanceSummary>

export function toWorkflowInstanceSummary(instance: Omit<InstanceValues, 'outputs'>): WorkflowInstanceSummary {
  return toRecord(WorkflowInstanceSummary, { ...instance, ...membersOf(instance) })
}

function membersOf({
  workflowInstanceId: id,
  failureCode: code,
  startedAt: createdAt,
}: Pick<InstanceValues, 'workflowInstanceId' | 'failureCode' | 'startedAt'>) {
  return { id, error: code === null ? null : { code, message: messages[code] }, createdAt }
}
