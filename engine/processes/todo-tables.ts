import { defineTable } from '../projections/projector.ts'

/** The to-do list of a process: which step is due for which key, and when. */
export const todoTable = defineTable({
  name: 'todo',
  columns: {
    key: 'text',
    step: 'text',
    org_id: { type: 'text', nullable: true },
    due_at: 'timestamptz',
    payload: 'jsonb',
  },
  primaryKey: ['key', 'step'],
  indexes: [{ columns: ['due_at'] }],
})

/** The to-do list of a process with steps that call many receivers. `lane` is the concurrency key: the receiver of a row. */
export const keyedTodoTable = defineTable({
  name: 'todo',
  columns: { ...todoTable.columns, lane: 'text' },
  primaryKey: ['key', 'step'],
  indexes: [{ columns: ['lane', 'due_at'] }],
})

export type TodoTable = typeof todoTable | typeof keyedTodoTable

/** The concurrency key of rows whose steps call no receiver. Only the number of workers limits them. */
export const noConcurrencyKey = '-'
