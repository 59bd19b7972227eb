import { Type, type Static } from 'typebox'
import { stepNames, variantsBy, wireSteps } from '../../contracts/workflows/definition.ts'
import { variantsAlone } from '../../platform/http/documented.ts'
import { Text, Uuid } from '../../platform/http/members.ts'
import { distinctItems } from '../../platform/kit/documented-rules.ts'
import { mostSteps, StepKind, WorkflowName, type WorkflowStep } from '../../streams/workflow-definition/steps.ts'
import { mostText } from './output-errors.ts'

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

/** The step decides which one it takes, and which answers. */
const outputVariants = {
  AnswersOutput: Type.Object(
    {
      answers: Type.Record(
        Type.String(),
        Type.Union([Type.String({ maxLength: mostText }), Type.Number(), Type.Boolean()]),
        { description: 'By question id. A date has the form YYYY-MM-DD' },
      ),
    },
    { additionalProperties: false },
  ),
  ImagesOutput: Type.Object({ image_ids: Type.Array(Uuid, distinctItems) }, { additionalProperties: false }),
}

export const AdvanceInstanceBody = Type.Object(
  {
    step_id: WorkflowName,
    output: Type.Record(Type.String(), Type.Unknown(), {
      description:
        'For questions `{ answers: { <question id>: value } }`, for images `{ image_ids }`. At most 16 levels and 64 KiB',
      documented: variantsAlone(outputVariants),
    }),
  },
  { $id: 'AdvanceWorkflowInstanceBody', additionalProperties: false },
)
