import { Type, type Static, type TSchema } from 'typebox'
import { Instant, Uuid } from '../../platform/http/members.ts'
import {
  comparisons,
  mostSteps,
  StepKind,
  stepSchemas,
  WorkflowName,
  type WorkflowStep,
  type Condition,
} from '../../streams/workflow-definition/steps.ts'
import { toRecord, type ValuesOf } from '../../engine/reads/records.ts'

const closed = { additionalProperties: false } as const
const Path = Type.String({
  maxLength: 200,
  description: '`<step_id>.answers.<question id>` or `<step_id>.image_ids`',
})
const Value = Type.Union([Type.String({ maxLength: 10_000 }), Type.Number(), Type.Boolean()])
const nested: TSchema = Type.Unsafe({ $ref: 'WorkflowCondition' })

function variant($id: string, op: readonly string[], members: Readonly<Record<string, TSchema>>) {
  return Type.Object({ op: Type.Enum([...op]), ...members }, { $id, additionalProperties: false })
}

/**
 * One of several objects. The member `tag` selects the schema, so errors point at the member that is wrong. Generators of
 * clients need the variants alone: as components with a mapping, or without a discriminator.
 *
 * @param mapping the `$id` of the variant of each value
 */
export function variantsBy(
  tag: string,
  values: readonly string[],
  variants: readonly TSchema[],
  mapping?: Readonly<Record<string, string>>,
) {
  const places = Object.entries(mapping ?? {}).map(([value, id]) => [value, `#/components/schemas/${id}`])
  const discriminator = { propertyName: tag, mapping: Object.fromEntries(places) }
  return {
    type: 'object',
    properties: { [tag]: Type.Enum([...values]) },
    required: [tag],
    discriminator: { propertyName: tag },
    oneOf: [...variants],
    documented: {
      without: ['type', 'properties', 'required', 'discriminator'],
      ...(mapping === undefined ? {} : { discriminator }),
    },
  }
}

/** The names of the components that describe the kinds of steps. */
export const stepNames = {
  'collect-questions': 'CollectQuestionsStep',
  'collect-images': 'CollectImagesStep',
  decision: 'DecisionStep',
  output: 'OutputStep',
} as const satisfies Readonly<Record<StepKind, string>>

const ConditionSchema = Type.Unsafe<Condition>({
  $id: 'WorkflowCondition',
  description: 'A comparison with a missing answer is false, `ne` too. At most 16 levels.',
  ...variantsBy(
    'op',
    [...comparisons, 'in', 'exists', 'and', 'or', 'not'],
    [
      variant('ComparisonCondition', comparisons, { path: Path, value: Value }),
      variant('InCondition', ['in'], { path: Path, values: Type.Array(Value, { minItems: 1, maxItems: 100 }) }),
      // Generators look for the members of the variants in the order of their names: `in` has all members of this one.
      variant('PresenceCondition', ['exists'], { path: Path }),
      variant('CombinedCondition', ['and', 'or'], { conditions: Type.Array(nested, { minItems: 1, maxItems: 100 }) }),
      variant('NotCondition', ['not'], { condition: nested }),
    ],
  ),
})

const steps = stepSchemas(ConditionSchema)
/** Steps with a full description of their conditions. */
export const wireSteps = {
  questions: Type.Object(steps.questions.properties, { $id: stepNames['collect-questions'], ...closed }),
  images: Type.Object(steps.images.properties, { $id: stepNames['collect-images'], ...closed }),
  decision: Type.Object(steps.decision.properties, { $id: stepNames.decision, ...closed }),
  output: Type.Object(steps.output.properties, { $id: stepNames.output, ...closed }),
}

const WorkflowStepRecord = Type.Unsafe<WorkflowStep>({
  $id: 'WorkflowStep',
  ...variantsBy('kind', StepKind.enum, Object.values(wireSteps), stepNames),
})

const summary = {
  id: Uuid,
  name: Type.String(),
  version: Type.Integer({ minimum: 1 }),
  start_step_id: WorkflowName,
  created_at: Instant,
}

/** Specification 2.3. All versions share the id; `created_at` is the instant of the version. */
export const WorkflowDefinitionRecord = Type.Object(
  {
    id: summary.id,
    name: summary.name,
    version: summary.version,
    start_step_id: summary.start_step_id,
    steps: Type.Array(WorkflowStepRecord, { maxItems: mostSteps }),
    created_at: summary.created_at,
  },
  { $id: 'WorkflowDefinitionRecord' },
)
export type WorkflowDefinitionRecord = Static<typeof WorkflowDefinitionRecord>

type DefinitionValues = Omit<ValuesOf<typeof WorkflowDefinitionRecord>, 'id' | 'createdAt'> & {
  readonly workflowDefinitionId: string
  readonly publishedAt: string
}

export function toWorkflowDefinitionRecord(definition: DefinitionValues): WorkflowDefinitionRecord {
  const { workflowDefinitionId: id, publishedAt: createdAt } = definition
  return toRecord(WorkflowDefinitionRecord, { ...definition, id, createdAt })
}

/** An item of the list: the newest version, without its steps. */
export const WorkflowDefinitionSummary = Type.Object(summary, { $id: 'WorkflowDefinitionSummary' })
export type WorkflowDefinitionSummary = Static<typeof WorkflowDefinitionSummary>

export function toWorkflowDefinitionSummary(definition: Omit<DefinitionValues, 'steps'>): WorkflowDefinitionSummary {
  const { workflowDefinitionId: id, publishedAt: createdAt } = definition
  return toRecord(WorkflowDefinitionSummary, { ...definition, id, createdAt })
}
