import { Type, type Static } from 'typebox'
import { stepNames, variantsBy, wireSteps } from '../../contracts/workflows/definition.ts'
import { Text, Uuid } from '../../platform/http/members.ts'
import { mostSteps, StepKind, WorkflowName, type WorkflowStep } from '../../streams/workflow-definition/steps.ts'

const bodyNames = { ...stepNames, decision: 'DecisionStepBody', output: 'OutputStepBody' } as const
const { questions, images, decision, output } = wireSteps
const lenientDecision = Type.Object(
  { ...decision.properties, config: Type.Optional(decision.properties.config) },
  { $id: bodyNames.decision, additionalProperties: false },
)
const lenientOutput = Type.Object(
  { ...output.properties, next: Type.Optional(output.properties.next) },
  { $id: bodyNames.output, additionalProperties: false },
)
type StepBody = WorkflowStep | Static<typeof lenientDecision> | Static<typeof lenientOutput>

/** A decision needs no `config`, and an output no `next`. */
const WorkflowStepBody = Type.Unsafe<StepBody>({
  $id: 'WorkflowStepBody',
  ...variantsBy('kind', StepKind.enum, [questions, images, lenientDecision, lenientOutput], bodyNames),
})

export const PublishDefinitionBody = Type.Object(
  {
    name: Text(255),
    start_step_id: WorkflowName,
    steps: Type.Array(WorkflowStepBody, { minItems: 1, maxItems: mostSteps }),
  },
  { $id: 'PublishDefinitionBody', additionalProperties: false },
)

/** The steps with every member of the record. */
export function wholeSteps(steps: readonly StepBody[]): WorkflowStep[] {
  return steps.map((step) => {
    switch (step.kind) {
      case 'decision':
        return { ...step, config: step.config ?? {} }
      case 'output':
        return { ...step, next: step.next ?? [] }
      default:
        return step
    }
  })
}

export const StartInstanceBody = Type.Object(
  { workflow_definition_id: Uuid, case_id: Uuid },
  { $id: 'StartWorkflowInstanceBody', additionalProperties: false },
)

export const AdvanceInstanceBody = Type.Object(
  {
    step_id: WorkflowName,
    output: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'For questions `{ answers: { <question id>: value } }`, for images `{ image_ids }`. At most 16 levels and 64 KiB',
    }),
  },
  { $id: 'AdvanceWorkflowInstanceBody', additionalProperties: false },
)
