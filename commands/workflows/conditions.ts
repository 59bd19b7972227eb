import type { Comparable, Comparison, Condition } from '../../streams/workflow-definition/steps.ts'
import type { Output } from '../../streams/workflow-instance/aggregate.ts'

type Outputs = ReadonlyMap<string, Output>

/** The parts of a path. Both forms name a collecting step. */
export type PlaceOfPath =
  | { readonly kind: 'answer'; readonly stepId: string; readonly questionId: string }
  | { readonly kind: 'images'; readonly stepId: string }

/** Undefined for a text that is no path. */
export function placeOfPath(path: string): PlaceOfPath | undefined {
  const [stepId = '', member, questionId, ...more] = path.split('.')
  if (member === 'image_ids' && questionId === undefined) return { kind: 'images', stepId }
  const isAnswer = member === 'answers' && questionId !== undefined && more.length === 0
  return isAnswer ? { kind: 'answer', stepId, questionId } : undefined
}

/** The value at a path. Undefined if the step has no output yet, or the client left the answer out. */
export function valueAt(outputs: Outputs, path: string): unknown {
  const place = placeOfPath(path)
  if (place === undefined) return undefined
  const output = outputs.get(place.stepId)
  if (output === undefined || output === null) return undefined
  if (place.kind === 'images') return output['image_ids']
  const answers = output['answers']
  const isObject = typeof answers === 'object' && answers !== null
  return isObject && Object.hasOwn(answers, place.questionId) ? Reflect.get(answers, place.questionId) : undefined
}

/** Whether a condition holds. A comparison with a missing value is false. */
export function holds(condition: Condition, outputs: Outputs): boolean {
  switch (condition.op) {
    case 'and':
      return condition.conditions.every((one) => holds(one, outputs))
    case 'or':
      return condition.conditions.some((one) => holds(one, outputs))
    case 'not':
      return !holds(condition.condition, outputs)
    case 'exists':
      return isPresent(valueAt(outputs, condition.path))
    case 'in': {
      const value = valueAt(outputs, condition.path)
      return condition.values.some((one) => one === value)
    }
    default:
      return compares(condition.op, valueAt(outputs, condition.path), condition.value)
  }
}

/** An empty list of images is none. */
function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)
}

function compares(op: Comparison, value: unknown, other: Comparable): boolean {
  if (typeof value !== typeof other || !isPresent(value)) return false
  if (op === 'eq') return value === other
  if (op === 'ne') return value !== other
  // Dates in their text form have the order of their days.
  const areOrdered = typeof value === 'number' || typeof value === 'string'
  if (!areOrdered) return false
  if (op === 'gt') return value > other
  if (op === 'gte') return value >= other
  return op === 'lt' ? value < other : value <= other
}
