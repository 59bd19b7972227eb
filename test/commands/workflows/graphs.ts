import type { Condition, WorkflowStep } from '../../../streams/workflow-definition/steps.ts'

type Next = WorkflowStep['next']
type Question = Extract<WorkflowStep, { kind: 'collect-questions' }>['config']['questions'][number]

const text = { text: 'Text', required: false } as const

/** A question of each type, under the name of the type. */
export const questionsOfEachType: Question[] = [
  { id: 'text', type: 'text', ...text },
  { id: 'number', type: 'number', ...text },
  { id: 'boolean', type: 'boolean', ...text },
  { id: 'date', type: 'date', ...text },
  { id: 'choice', type: 'choice', options: ['a', 'b'], ...text },
]

/** Branches without conditions. */
export function to(...stepIds: string[]): Next {
  return stepIds.map((stepId) => ({ step_id: stepId }))
}

/** A branch with a condition, and one without. */
export function either(when: Condition, stepId: string, other: string): Next {
  return [{ when, step_id: stepId }, { step_id: other }]
}

export function questions(stepId: string, next: Next, list = questionsOfEachType): WorkflowStep {
  return { step_id: stepId, title: stepId, kind: 'collect-questions', config: { questions: list }, next }
}

export function photos(stepId: string, next: Next, limits = { min: 1, max: 2 }): WorkflowStep {
  const config = { ...limits, capture_types: ['dermoscopic' as const] }
  return { step_id: stepId, title: stepId, kind: 'collect-images', config, next }
}

export function decision(stepId: string, next: Next): WorkflowStep {
  return { step_id: stepId, title: stepId, kind: 'decision', config: {}, next }
}

export function output(
  stepId: string,
  config: Partial<Extract<WorkflowStep, { kind: 'output' }>['config']> = {},
  next: Next = [],
): WorkflowStep {
  return { step_id: stepId, title: stepId, kind: 'output', config: { values: {}, ...config }, next }
}
