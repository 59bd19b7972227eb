import { expect, it } from 'vitest'
import { defineProcess, Nothing, step } from '../../../engine/processes/define-process.ts'
import { insertSelect, type Expression, type RowChange } from '../../../engine/projections/projector.ts'
import {
  insertRow,
  patchRow,
  patchRows,
  removeRow,
  removeRows,
  upsertRow,
} from '../../../engine/projections/row-changes.ts'
import { todoTable } from '../../../engine/processes/todo-tables.ts'

const { list } = defineProcess()({
  name: 'reminders',
  version: 1,
  steps: { remind: step(Nothing, async () => ({ kind: 'done' })) },
  on: {},
})
const recordedAt = '2026-03-01T10:00:00.000Z'
const soon = '2026-03-01T10:00:00.400Z'
const later = '2026-03-01T10:00:02.000Z'
const key = { key: 'k', step: 'remind' }
const row = (dueAt: string) => ({ ...key, orgId: 'o', dueAt, payload: {} })
const selected = (due_at: Expression) =>
  insertSelect(todoTable, {
    from: todoTable,
    where: { key: 'k' },
    columns: {
      key: { column: 'key' },
      step: { value: 'remind' },
      payload: { column: 'payload' },
      due_at,
    },
  })
const waiting = (change: RowChange): RowChange =>
  change.op === 'insert-select' ? { ...change, mayWait: true } : change

it.each<[string, RowChange, boolean]>([
  ['a row that is due', insertRow(todoTable, row(recordedAt)), true],
  ['a row that is due within a moment', upsertRow(todoTable, row(soon)), true],
  ['a row that is due later', insertRow(todoTable, row(later)), false],
  ['a row that it makes due', patchRow(todoTable, { ...key, dueAt: recordedAt }), true],
  ['a row that it puts off', patchRow(todoTable, { ...key, dueAt: later }), false],
  ['rows that it makes due', patchRows(todoTable, { step: 'remind' }, { dueAt: recordedAt }), true],
  ['a row whose time it leaves', patchRow(todoTable, { ...key, payload: {} }), false],
  ['a row that it removes', removeRow(todoTable, key), false],
  ['rows that it removes', removeRows(todoTable, { key: 'k' }), false],
  ['rows of another table that are due', selected({ value: recordedAt }), true],
  ['rows of another table that may wait', waiting(selected({ value: recordedAt })), false],
  ['rows of another table that are due later', selected({ value: later }), false],
  ['rows of another table that the database knows', selected({ column: 'due_at' }), true],
  ['a row of a lookup table', { ...insertRow(todoTable, row(recordedAt)), table: 'lookup' }, false],
])('whether a step waits for the changes of an event: %s', (_, change, isUrgent) => {
  expect(list.isUrgent?.([change], { recordedAt })).toBe(isUrgent)
})
