import { expect, it } from 'vitest'
import type { RowChange } from '../../../engine/projections/projector.ts'
import { insertRow, patchRow, upsertRow } from '../../../engine/projections/row-changes.ts'
import { RowPlan } from '../../../engine/projections/row-plan.ts'
import { tickets } from './tickets.ts'

const ticket = { ticketId: 't1', title: 'first', team: 'red', openedAt: '2026-01-01T00:00:00.000Z', streamRevision: 0n }

function titleAfter(...changes: RowChange[]): unknown {
  const plan = new RowPlan([tickets])
  for (const change of changes) plan.add([change])
  const [step] = plan.steps
  return step?.kind === 'rows' ? [...step.rows.values()][0]?.values['title'] : undefined
}

it('the last change of a column in a batch wins', () => {
  const renamed = (title: string) => patchRow(tickets, { ticketId: 't1', title })
  expect(titleAfter(renamed('a'), renamed('b'))).toBe('b')
  expect(titleAfter(insertRow(tickets, ticket), renamed('a'), renamed('b'))).toBe('b')
  expect(titleAfter(renamed('a'), upsertRow(tickets, ticket))).toBe('first')
  expect(titleAfter(upsertRow(tickets, ticket), upsertRow(tickets, { ...ticket, title: 'second' }))).toBe('second')
})
