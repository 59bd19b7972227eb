import type { Process, StepOutcome, TodoRow } from '../../engine/processes/process.ts'
import { leaseUntil } from '../../engine/processes/step-run.ts'
import type { RecordedEvent } from '../../engine/store/events.ts'
import { rowsInMemory } from './rows-in-memory.ts'

/** The to-do list of a process after these events, ordered by key and step. */
export function todosAfter<Deps>(process: Process<Deps>, events: readonly RecordedEvent[]): TodoRow[] {
  const { todo: rows = [] } = rowsInMemory(process.list, events)
  return rows.map((row) => ({
    key: String(row['key']),
    step: String(row['step']),
    orgId: typeof row['org_id'] === 'string' ? row['org_id'] : null,
    dueAt: new Date(String(row['due_at'])),
    payload: row['payload'],
  }))
}

/** The rows that are due at an instant. */
export function dueAt(todos: readonly TodoRow[], now: Date): TodoRow[] {
  return todos.filter((todo) => todo.dueAt.getTime() <= now.getTime())
}

/** Runs one step as a worker would at that instant, with a lease of 20 s and no time limit. */
export function whenWorkedOff<Deps>(
  process: Process<Deps>,
  todo: TodoRow,
  deps: Deps,
  now: Date,
): Promise<StepOutcome> {
  const step = process.steps[todo.step]
  if (step === undefined) throw new Error(`process ${process.name} has no step ${todo.step}`)
  const context = {
    now: () => now,
    signal: new AbortController().signal,
    leaseUntil: leaseUntil(now, 20_000),
    endedLeases: [],
    hasTime: () => true,
  }
  return step(todo, deps, context)
}
