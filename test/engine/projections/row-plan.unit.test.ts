import { describe, expect, it } from 'vitest'
import { insertSelect, type RowChange } from '../../../engine/projections/projector.ts'
import {
  insertRow,
  patchRow,
  patchRows,
  removeRow,
  removeRows,
  upsertRow,
} from '../../../engine/projections/row-changes.ts'
import { RowPlan, type PlanStep } from '../../../engine/projections/row-plan.ts'
import { RowConflictError } from '../../../engine/projections/rows-step.ts'
import { news, tickets, watchers } from './tickets.ts'

const row = { ticket_id: 't1', title: 'first', team: 'red', opened_at: '2026-01-01T00:00:00.000Z', stream_revision: 0n }
const key = { ticket_id: 't1' }
const ticket = { ticketId: 't1', title: 'first', team: 'red', openedAt: '2026-01-01T00:00:00.000Z', streamRevision: 0n }
const { ticketId } = ticket

function planned(...changes: RowChange[]): PlanStep[] {
  const plan = new RowPlan([tickets, watchers, news])
  for (const change of changes) plan.add([change])
  return plan.steps
}

function folded(...changes: RowChange[]) {
  const [step] = planned(...changes)
  if (step?.kind !== 'rows') throw new Error('no rows step')
  return [...step.rows.values()]
}

describe('the fold of row changes', () => {
  it('merges an insert and later patches into one whole row', () => {
    expect(
      folded(
        insertRow(tickets, ticket),
        patchRow(tickets, { ticketId, title: 'second' }),
        patchRow(tickets, { ticketId, streamRevision: 2n }),
      ),
    ).toEqual([{ before: 'absent', after: 'whole', values: { ...row, title: 'second', stream_revision: '2' } }])
  })

  it('keeps the columns of several patches and leaves out what is undefined', () => {
    expect(
      folded(
        patchRow(tickets, { ticketId, title: 'a', note: undefined }),
        patchRow(tickets, { ticketId, team: 'blue' }),
      ),
    ).toEqual([{ before: 'present', after: 'partial', values: { title: 'a', team: 'blue', ticket_id: 't1' } }])
  })

  it('keeps the required state of a row before its removal', () => {
    expect(folded(insertRow(tickets, ticket), removeRow(tickets, { ticketId }))[0]).toMatchObject({
      before: 'absent',
      after: 'gone',
    })
    expect(folded(patchRow(tickets, { ticketId, title: 'a' }), removeRow(tickets, { ticketId }))[0]).toMatchObject({
      before: 'present',
      after: 'gone',
    })
    expect(folded(removeRow(tickets, { ticketId }))[0]).toMatchObject({ before: 'any', after: 'gone' })
  })

  it('replaces a removed row by a whole one', () => {
    expect(folded(removeRow(tickets, { ticketId }), insertRow(tickets, ticket))[0]).toMatchObject({
      before: 'any',
      after: 'whole',
    })
  })

  it.each([
    ['insert after insert', [insertRow(tickets, ticket), insertRow(tickets, ticket)]],
    ['insert after patch', [patchRow(tickets, { ticketId, title: 'a' }), insertRow(tickets, ticket)]],
    ['insert after upsert', [upsertRow(tickets, ticket), insertRow(tickets, ticket)]],
    ['patch after remove', [removeRow(tickets, { ticketId }), patchRow(tickets, { ticketId, title: 'a' })]],
  ])('refuses %s', (_name, changes) => {
    expect(() => planned(...changes)).toThrow(RowConflictError)
  })

  it('refuses an undeclared column or table, and a row without its key', () => {
    expect(() => planned({ op: 'upsert', table: 'tickets', row: { ...row, colour: 'red' } })).toThrow(
      'tickets has no column colour',
    )
    expect(() => planned({ op: 'remove', table: 'elsewhere', key })).toThrow('table elsewhere')
    expect(() => planned({ op: 'remove', table: 'tickets', key: {} })).toThrow('leaves out its key ticket_id')
  })

  it('distinguishes two spellings of a composite key', () => {
    const one = upsertRow(watchers, { team: 'a', watcher: 'b,c', tags: [] })
    const other = upsertRow(watchers, { team: 'a,b', watcher: 'c', tags: [] })
    expect(folded(one, other)).toHaveLength(2)
  })
})

describe('the order of a plan', () => {
  const notify = (watcher: string) =>
    insertSelect(news, {
      from: watchers,
      where: { team: 'red' },
      columns: { key: { value: watcher }, watcher: { column: 'watcher' }, detail: { value: {} } },
    })

  it('puts a change that reads a table between the changes of that table', () => {
    const watch = (watcher: string) => upsertRow(watchers, { team: 'red', watcher, tags: [] })
    const steps = planned(watch('a'), notify('1'), watch('b'), notify('2'))
    expect(steps.map((step) => `${step.kind} ${step.table.name}`)).toEqual([
      'rows watchers',
      'where news',
      'rows watchers',
      'where news',
    ])
  })

  it('joins adjacent changes of one shape', () => {
    const steps = planned(notify('1'), upsertRow(tickets, ticket), notify('2'))
    expect(steps.map((step) => (step.kind === 'where' ? step.changes.length : step.rows.size))).toEqual([2, 1])
  })

  describe('of inserts whose rows no earlier event names', () => {
    const announce = (id: string) =>
      insertSelect(news, {
        from: watchers,
        where: { team: 'red' },
        isOfEvent: true,
        columns: { key: { value: id }, watcher: { column: 'watcher' }, detail: { value: {} } },
      })
    const read = (id: string) => patchRow(news, { key: id, detail: { read: true } })
    const watch = (watcher: string) => upsertRow(watchers, { team: 'red', watcher, tags: [] })
    const shapes = (...changes: RowChange[]) =>
      planned(...changes).map(
        (step) => `${step.kind} ${step.table.name} ${step.kind === 'where' ? step.changes.length : step.rows.size}`,
      )

    it('puts all of them before the changes by key', () => {
      expect(shapes(announce('1'), read('1'), announce('2'), read('2'), announce('3'))).toEqual([
        'where news 3',
        'rows news 2',
      ])
      expect(shapes(read('0'), announce('1'), read('1'), announce('2'))).toEqual(['where news 2', 'rows news 2'])
      expect(shapes(announce('1'), read('1'), notify('2'), read('2'))).toEqual([
        'where news 1',
        'rows news 1',
        'where news 1',
        'rows news 1',
      ])
    })

    it('keeps them after changes of the table that they read', () => {
      expect(shapes(watch('a'), read('0'), announce('1'), watch('b'), announce('2'))).toEqual([
        'rows watchers 1',
        'where news 1',
        'rows news 1',
        'rows watchers 1',
        'where news 1',
      ])
      expect(shapes(announce('1'), read('1'), watch('b'), announce('2'))).toEqual([
        'where news 1',
        'rows news 1',
        'rows watchers 1',
        'where news 1',
      ])
    })

    it('keeps them after changes by other columns, which may match their rows', () => {
      expect(shapes(read('1'), removeRows(news, { watcher: 'a' }), announce('2'))).toEqual([
        'rows news 1',
        'where news 1',
      ])
      expect(shapes(read('1'), patchRows(news, { watcher: 'a' }, { detail: {} }), announce('2'))).toEqual([
        'rows news 1',
        'where news 1',
        'where news 1',
      ])
    })

    it('keeps them after a change that reads their table', () => {
      const copy = insertSelect(tickets, {
        from: news,
        where: { watcher: 'a' },
        columns: {
          ticket_id: { column: 'key' },
          title: { value: 't' },
          team: { value: 'red' },
          opened_at: { value: row.opened_at },
          stream_revision: { value: 0 },
        },
      })
      expect(shapes(announce('1'), copy, read('1'), announce('2'))).toEqual([
        'where news 1',
        'where tickets 1',
        'where news 1',
        'rows news 1',
      ])
    })
  })

  it('never joins patches, because a later one may match rows that an earlier one wrote', () => {
    const steps = planned(
      patchRows(tickets, { team: 'red' }, { team: 'blue' }),
      patchRows(tickets, { team: 'blue' }, { team: 'green' }),
    )
    expect(steps).toHaveLength(2)
  })

  it('distinguishes a comparison with null from one with a value', () => {
    expect(planned(removeRows(tickets, { note: null }), removeRows(tickets, { note: 'x' }))).toHaveLength(2)
  })

  it('treats a removal by the whole key as a removal of that row', () => {
    expect(
      folded(
        upsertRow(watchers, { team: 'a', watcher: 'b', tags: [] }),
        removeRows(watchers, { watcher: 'b', team: 'a' }),
      ),
    ).toMatchObject([{ before: 'any', after: 'gone' }])
  })

  it('continues in one step after removals that provably match none of the later rows', () => {
    const watch = (team: string, watcher: string) => upsertRow(watchers, { team, watcher, tags: [] })
    const counts = (...changes: RowChange[]) =>
      planned(...changes).map((step) =>
        step.kind === 'rows' ? [step.rows.size, ...[...step.removals.values()].map(({ length }) => length)] : step.kind,
      )
    expect(
      counts(
        watch('a', '1'),
        removeRows(watchers, { team: 'a' }),
        watch('b', '1'),
        removeRows(watchers, { team: 'b' }),
      ),
    ).toEqual([[2, 2]])
    expect(counts(watch('a', '1'), removeRows(watchers, { team: 'a' }), watch('a', '2'))).toEqual([[1, 1], [1]])
    expect(
      counts(
        upsertRow(tickets, ticket),
        removeRows(tickets, { team: 'red' }),
        patchRow(tickets, { ticketId: 't2', team: 'blue' }),
      ),
    ).toEqual([[1, 1], [1]])
    expect(
      counts(
        upsertRow(tickets, ticket),
        removeRows(tickets, { team: 'red' }),
        upsertRow(tickets, { ...ticket, team: 'blue' }),
      ),
    ).toEqual([[1, 1], [1]])
  })
})
