import { Type, type Static } from 'typebox'
import { Instant, Nullable, Uuid } from '../../platform/http/members.ts'
import { personal } from '../../platform/kit/personal-content.ts'
import { StepKind, WorkflowName } from '../../streams/workflow-definition/steps.ts'
import {
  WorkflowFailureCode,
  WorkflowInstanceStatus,
  type WorkflowFailureCode as FailureCode,
} from '../../streams/workflow-instance/events.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

const FreeForm = Type.Record(Type.String(), Type.Unknown())

const ParkedStepSummary = Type.Object({ step_id: WorkflowName, kind: StepKind, parked_at: Instant })
const { parked_at, ...stepNames } = ParkedStepSummary.properties
const ParkedStep = Type.Object({
  ...stepNames,
  config: Type.Record(Type.String(), Type.Unknown(), { description: 'As in the definition' }),
  parked_at,
})
export type ParkedStep = Static<typeof ParkedStep>

const head = {
  id: Uuid,
  workflow_definition_id: Uuid,
  definition_version: Type.Integer({ minimum: 1 }),
  case_id: Uuid,
  state: WorkflowInstanceStatus,
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
    parked_step: Nullable(ParkedStep),
    outputs: Type.Record(Type.String(), Nullable(FreeForm), {
      description: 'The latest output of each step. Null after the data of the patient was erased',
      ...personal('answers'),
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
  'values-too-large': 'The values of the output step exceed 512 KiB.',
  'assessment-failed': 'The assessment of the instance failed. Its record contains the error.',
}

interface OwnValues {
  readonly workflowInstanceId: string
  readonly failureCode: FailureCode | null
  readonly startedAt: string
}
type ComputedMember = 'id' | 'error' | 'createdAt'
type InstanceValues = Omit<ValuesOf<typeof WorkflowInstanceRecord>, ComputedMember> & OwnValues
type SummaryValues = Omit<ValuesOf<typeof WorkflowInstanceSummary>, ComputedMember> & OwnValues

export function toWorkflowInstanceRecord(instance: InstanceValues): WorkflowInstanceRecord {
  return toRecord(WorkflowInstanceRecord, { ...instance, ...membersOf(instance) })
}

/** An item of the list. The outputs of one instance, and the configuration of its step, may have megabytes. */
export const WorkflowInstanceSummary = Type.Object(
  { ...head, parked_step: Nullable(ParkedStepSummary), ...tail },
  { $id: 'WorkflowInstanceSummary' },
)
export type WorkflowInstanceSummary = Static<typeof WorkflowInstanceSummary>

export function toWorkflowInstanceSummary(instance: SummaryValues): WorkflowInstanceSummary {
  return toRecord(WorkflowInstanceSummary, { ...instance, ...membersOf(instance) })
}

function membersOf({ workflowInstanceId: id, failureCode: code, startedAt: createdAt }: OwnValues) {
  return { id, error: code === null ? null : { code, message: messages[code] }, createdAt }
}
