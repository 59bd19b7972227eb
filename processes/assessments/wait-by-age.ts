import type { Todo } from '../../engine/processes/define-process.ts'
import type { StepContext } from '../../engine/processes/process.ts'

const firstMs = 500
const mostMs = 30_000
const fractionOfAge = 0.25

/** Milliseconds until a row is tried again that needs something else first. It may take days, so the waits grow with its age. */
export function waitByAge({ dueAt }: Pick<Todo, 'dueAt'>, { now }: Pick<StepContext, 'now'>): number {
  return Math.min(Math.max(firstMs, fractionOfAge * (now().getTime() - dueAt.getTime())), mostMs)
}
