import { expect, it } from 'vitest'
import { insert, patch, upsert, type RowChange } from '../../../projections/runtime/projector.ts'
import { RowPlan } from '../../../projections/runtime/row-plan.ts'
import { tickets } from './tickets.ts'

const row = { ticket_id: 't1', title: 'first', team: 'red', opened_at: '2026-01-01T00:00:00.000Z', stream_revision: 0n }

function titleAfter(...changes: RowChange[]): unknown {
  const plan = new RowPlan(new Map([[tickets.name, tickets]]))
  for (const change of changes) plan.add([change])
  const [step] = plan.steps
  return step?.kind === 'rows' ? [...step.rows.values()][0]?.values['title'] : undefined
}

it('the last change of a column in a batch wins', () => {
  const renamed = (title: string) => patch(tickets, { ticket_id: 't1' }, { title })
  expect(titleAfter(renamed('a'), renamed('b'))).toBe('b')
  expect(titleAfter(insert(tickets, row), renamed('a'), renamed('b'))).toBe('b')
  expect(titleAfter(renamed('a'), upsert(tickets, row))).toBe('first')
  expect(titleAfter(upsert(tickets, row), upsert(tickets, { ...row, title: 'second' }))).toBe('second')
})
