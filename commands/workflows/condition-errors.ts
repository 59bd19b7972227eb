import { isDate } from '../../platform/http/formats.ts'
import type { MemberError } from '../../platform/http/problems.ts'
import type { Comparable, Condition, Question, WorkflowStep } from '../../streams/workflow-definition/steps.ts'
import { placeOfPath } from './conditions.ts'

type StepsById = ReadonlyMap<string, WorkflowStep>
type Report = (error: MemberError) => void

/** Levels of a condition. */
const mostLevels = 16

/** The question that a path names; `images` for a list of images; undefined if the definition has no such place. */
export function targetOf(path: string, steps: StepsById): Question | 'images' | undefined {
  const place = placeOfPath(path)
  const step = place === undefined ? undefined : steps.get(place.stepId)
  if (place?.kind === 'images') return step?.kind === 'collect-images' ? 'images' : undefined
  if (place?.kind !== 'answer' || step?.kind !== 'collect-questions') return undefined
  return step.config.questions.find(({ id }) => id === place.questionId)
}

export function reportUnknownPath(pointer: string, report: Report): void {
  report({ pointer, detail: 'must name a declared question or a step that collects images', code: 'unknown-path' })
}

/** Reports paths that lead nowhere, and comparisons with a value of another type. */
export function reportConditionErrors(
  condition: Condition,
  pointer: string,
  steps: StepsById,
  report: Report,
  level = 1,
): void {
  if (level > mostLevels) {
    report({ pointer, detail: 'must not be nested deeper than 16 levels', code: 'too-deep' })
    return
  }
  switch (condition.op) {
    case 'and':
    case 'or':
      for (const [index, one] of condition.conditions.entries())
        reportConditionErrors(one, `${pointer}/conditions/${index}`, steps, report, level + 1)
      return
    case 'not':
      reportConditionErrors(condition.condition, `${pointer}/condition`, steps, report, level + 1)
      return
    case 'exists':
    case 'in':
    default:
      reportComparisonErrors(condition, pointer, steps, report)
  }
}

type ComparisonOfPath = Exclude<Condition, { op: 'and' | 'or' | 'not' }>

function reportComparisonErrors(condition: ComparisonOfPath, pointer: string, steps: StepsById, report: Report): void {
  const target = targetOf(condition.path, steps)
  if (target === undefined) return reportUnknownPath(`${pointer}/path`, report)
  if (condition.op === 'exists') return
  if (target === 'images') {
    report({ pointer: `${pointer}/op`, detail: 'must be exists for a list of images', code: 'wrong-operator' })
    return
  }
  const isOrder = condition.op !== 'eq' && condition.op !== 'ne' && condition.op !== 'in'
  if (isOrder && target.type !== 'number' && target.type !== 'date') {
    report({ pointer: `${pointer}/op`, detail: 'takes numbers and dates only', code: 'wrong-operator' })
    return
  }
  const values = condition.op === 'in' ? condition.values : [condition.value]
  for (const [index, value] of values.entries()) {
    if (isAnswerTo(target, value)) continue
    const place = condition.op === 'in' ? `${pointer}/values/${index}` : `${pointer}/value`
    report({ pointer: place, detail: `must be ${formOf(target)}`, code: 'wrong-type' })
  }
}

/** Whether the value has the form of an answer to the question. */
export function isAnswerTo({ type, options = [] }: Question, value: unknown): value is Comparable {
  switch (type) {
    case 'text':
      return typeof value === 'string'
    case 'number':
    case 'boolean':
      return typeof value === type
    case 'date':
      return typeof value === 'string' && isDate(value)
    case 'choice':
      return typeof value === 'string' && options.includes(value)
  }
}

/** The form of an answer in words. */
export function formOf({ type }: Pick<Question, 'type'>): string {
  return {
    text: 'a text',
    number: 'a number',
    boolean: 'true or false',
    date: 'a date of the form YYYY-MM-DD',
    choice: 'one of the options of the question',
  }[type]
}
