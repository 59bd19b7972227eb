import { Type, type Static, type TSchema } from 'typebox'
import { distinctItems, noneOf } from '../../platform/kit/documented-rules.ts'
import { CaptureType, FindingType } from '../assessment/events.ts'

/** Names of steps, questions and values. A path joins them with dots. */
export const workflowNamePattern = '^[a-z][a-z0-9_-]{0,63}$'
export const WorkflowName = Type.String({ pattern: workflowNamePattern })

export const QuestionType = Type.Enum(['text', 'number', 'boolean', 'date', 'choice'])
export type QuestionType = Static<typeof QuestionType>

/** `collect-questions` and `collect-images` wait for the client. The others are passed at once. */
export const StepKind = Type.Enum(['collect-questions', 'collect-images', 'decision', 'output'])
export type StepKind = Static<typeof StepKind>

export const comparisons = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'] as const
export type Comparison = (typeof comparisons)[number]
/** A date is its text: `2026-01-31`. */
export type Comparable = string | number | boolean

/** A comparison tree over the answers of earlier steps. It is data, never code. */
export type Condition =
  | { readonly op: Comparison; readonly path: string; readonly value: Comparable }
  | { readonly op: 'in'; readonly path: string; readonly values: readonly Comparable[] }
  | { readonly op: 'exists'; readonly path: string }
  | { readonly op: 'and' | 'or'; readonly conditions: readonly Condition[] }
  | { readonly op: 'not'; readonly condition: Condition }

const closed = { additionalProperties: false } as const
// The publication refuses what these rules refuse, with codes of its own.
const distinct = { documented: distinctItems }

const Question = Type.Object(
  {
    id: WorkflowName,
    text: Type.String({ minLength: 1, maxLength: 1000 }),
    type: QuestionType,
    required: Type.Boolean(),
    options: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { minItems: 1, maxItems: 100, ...distinct }),
    ),
  },
  {
    ...closed,
    documented: noneOf(
      { properties: { type: { enum: ['choice'] } }, not: { required: ['options'] } },
      { properties: { type: { enum: QuestionType.enum.filter((type) => type !== 'choice') } }, required: ['options'] },
    ),
  },
)
export type Question = Static<typeof Question>

const QuestionsConfig = Type.Object({ questions: Type.Array(Question, { minItems: 1, maxItems: 100 }) }, closed)
export type QuestionsConfig = Static<typeof QuestionsConfig>

/** More than the ten images of an assessment: several steps may feed different records of the client. */
const mostImages = 50
const ImagesConfig = Type.Object(
  {
    min: Type.Integer({ minimum: 0, maximum: mostImages }),
    max: Type.Integer({ minimum: 1, maximum: mostImages }),
    capture_types: Type.Array(CaptureType, { minItems: 1, maxItems: 3, ...distinct }),
  },
  closed,
)
export type ImagesConfig = Static<typeof ImagesConfig>

export const DecisionConfig = Type.Object({}, closed)

const OutputConfig = Type.Object(
  {
    /** Path by name. */
    values: Type.Record(Type.String(), Type.String({ maxLength: 255 }), {
      maxProperties: 100,
      documented: { propertyNames: { pattern: workflowNamePattern } },
    }),
    effect: Type.Optional(Type.Enum(['assessment'])),
    finding_type: Type.Optional(FindingType),
  },
  { ...closed, documented: noneOf({ required: ['finding_type'], not: { required: ['effect'] } }) },
)
export type OutputConfig = Static<typeof OutputConfig>

export const mostSteps = 200

/** The four kinds of steps. Members have their names of the wire. `condition` describes `when`. */
export function stepSchemas<When extends TSchema>(condition: When) {
  const named = { step_id: WorkflowName, title: Type.String({ minLength: 1, maxLength: 255 }) }
  const branch = Type.Object({ when: Type.Optional(condition), step_id: WorkflowName }, closed)
  const next = Type.Array(branch, { maxItems: mostSteps, documented: { maxItems: 0 } })
  const onward = Type.Array(branch, { maxItems: mostSteps, documented: { minItems: 1 } })
  return {
    questions: Type.Object(
      { ...named, kind: Type.Literal('collect-questions'), config: QuestionsConfig, next: onward },
      closed,
    ),
    images: Type.Object({ ...named, kind: Type.Literal('collect-images'), config: ImagesConfig, next: onward }, closed),
    decision: Type.Object({ ...named, kind: Type.Literal('decision'), config: DecisionConfig, next: onward }, closed),
    output: Type.Object({ ...named, kind: Type.Literal('output'), config: OutputConfig, next }, closed),
  }
}

/** The publication has checked every condition, so the stored form leaves them as they are. */
const stored = stepSchemas(Type.Unsafe<Condition>({}))

export const WorkflowStep = Type.Union([stored.questions, stored.images, stored.decision, stored.output])
export type WorkflowStep = Static<typeof WorkflowStep>
export type CollectingStep = Extract<WorkflowStep, { kind: 'collect-questions' | 'collect-images' }>
export type OutputStep = Extract<WorkflowStep, { kind: 'output' }>

/** The step waits for the client. */
export function isCollecting(step: WorkflowStep): step is CollectingStep {
  return step.kind === 'collect-questions' || step.kind === 'collect-images'
}
