import { describe, expect, it } from 'vitest'
import {
  insert,
  insertSelect,
  patch,
  patchWhere,
  remove,
  removeWhere,
  upsert,
  type RowChange,
} from '../../../projections/runtime/projector.ts'
import { RowPlan, type PlanStep } from '../../../projections/runtime/row-plan.ts'
import { RowConflictError } from '../../../projections/runtime/rows-step.ts'
import { news, tickets, watchers } from './tickets.ts'

const row = { ticket_id: 't1', title: 'first', team: 'red', opened_at: '2026-01-01T00:00:00.000Z', stream_revision: 0n }
const key = { ticket_id: 't1' }

function planned(...changes: RowChange[]): PlanStep[] {
  const plan = new RowPlan(new Map([tickets, watchers, news].map((table) => [table.name, table])))
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
        insert(tickets, row),
        patch(tickets, key, { title: 'second' }),
        patch(tickets, key, { stream_revision: 2n }),
      ),
    ).toEqual([{ before: 'absent', after: 'whole', values: { ...row, title: 'second', stream_revision: '2' } }])
  })

  it('merges the columns of several patches and omits undefined ones', () => {
    expect(folded(patch(tickets, key, { title: 'a', note: undefined }), patch(tickets, key, { team: 'blue' }))).toEqual(
      [{ before: 'present', after: 'partial', values: { title: 'a', team: 'blue', ticket_id: 't1' } }],
    )
  })

  it('keeps the required state of a row before its removal', () => {
    expect(folded(insert(tickets, row), remove(tickets, key))[0]).toMatchObject({ before: 'absent', after: 'gone' })
    expect(folded(patch(tickets, key, { title: 'a' }), remove(tickets, key))[0]).toMatchObject({
      before: 'present',
      after: 'gone',
    })
    expect(folded(remove(tickets, key))[0]).toMatchObject({ before: 'any', after: 'gone' })
  })

  it('replaces a removed row by a whole one', () => {
    expect(folded(remove(tickets, key), insert(tickets, row))[0]).toMatchObject({ before: 'any', after: 'whole' })
  })

  it.each([
    ['insert after insert', [insert(tickets, row), insert(tickets, row)]],
    ['insert after patch', [patch(tickets, key, { title: 'a' }), insert(tickets, row)]],
    ['insert after upsert', [upsert(tickets, row), insert(tickets, row)]],
    ['patch after remove', [remove(tickets, key), patch(tickets, key, { title: 'a' })]],
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
    const one = upsert(watchers, { team: 'a', watcher: 'b,c', tags: [] })
    const other = upsert(watchers, { team: 'a,b', watcher: 'c', tags: [] })
    expect(folded(one, other)).toHaveLength(2)
  })
})

describe('the order of a plan', () => {
  const tell = (watcher: string) =>
    insertSelect(news, {
      from: watchers,
      where: { team: 'red' },
      columns: { key: { value: watcher }, watcher: { column: 'watcher' }, detail: { value: {} } },
    })

  it('puts a change that reads a table between the changes of that table', () => {
    const watch = (watcher: string) => upsert(watchers, { team: 'red', watcher, tags: [] })
    const steps = planned(watch('a'), tell('1'), watch('b'), tell('2'))
    expect(steps.map((step) => `${step.kind} ${step.table.name}`)).toEqual([
      'rows watchers',
      'where news',
      'rows watchers',
      'where news',
    ])
  })

  it('joins changes of one shape without others in between', () => {
    const steps = planned(tell('1'), upsert(tickets, row), tell('2'))
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
    const read = (id: string) => patch(news, { key: id }, { detail: { read: true } })
    const watch = (watcher: string) => upsert(watchers, { team: 'red', watcher, tags: [] })
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
      expect(shapes(announce('1'), read('1'), tell('2'), read('2'))).toEqual([
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

    it('keeps them after changes by other columns, which might match their rows', () => {
      expect(shapes(read('1'), removeWhere(news, { watcher: 'a' }), announce('2'))).toEqual([
        'rows news 1',
        'where news 1',
      ])
      expect(shapes(read('1'), patchWhere(news, { watcher: 'a' }, { detail: {} }), announce('2'))).toEqual([
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
      patchWhere(tickets, { team: 'red' }, { team: 'blue' }),
      patchWhere(tickets, { team: 'blue' }, { team: 'green' }),
    )
    expect(steps).toHaveLength(2)
  })

  it('distinguishes a comparison with null from one with a value', () => {
    expect(planned(removeWhere(tickets, { note: null }), removeWhere(tickets, { note: 'x' }))).toHaveLength(2)
  })

  it('treats a removal by the whole key as a removal of that row', () => {
    expect(
      folded(
        upsert(watchers, { team: 'a', watcher: 'b', tags: [] }),
        removeWhere(watchers, { watcher: 'b', team: 'a' }),
      ),
    ).toMatchObject([{ before: 'any', after: 'gone' }])
  })

  it('continues in one step after removals that provably match none of the later rows', () => {
    const watch = (team: string, watcher: string) => upsert(watchers, { team, watcher, tags: [] })
    const counts = (...changes: RowChange[]) =>
      planned(...changes).map((step) =>
        step.kind === 'rows' ? [step.rows.size, ...[...step.removals.values()].map(({ length }) => length)] : step.kind,
      )
    expect(
      counts(
        watch('a', '1'),
        removeWhere(watchers, { team: 'a' }),
        watch('b', '1'),
        removeWhere(watchers, { team: 'b' }),
      ),
    ).toEqual([[2, 2]])
    expect(counts(watch('a', '1'), removeWhere(watchers, { team: 'a' }), watch('a', '2'))).toEqual([[1, 1], [1]])
    expect(
      counts(
        upsert(tickets, row),
        removeWhere(tickets, { team: 'red' }),
        patch(tickets, { ticket_id: 't2' }, { team: 'blue' }),
      ),
    ).toEqual([[1, 1], [1]])
    expect(
      counts(upsert(tickets, row), removeWhere(tickets, { team: 'red' }), upsert(tickets, { ...row, team: 'blue' })),
    ).toEqual([[1, 1], [1]])
  })
})
