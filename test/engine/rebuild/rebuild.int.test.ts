import { describe, expect, it } from 'vitest'
import { defineProjector, defineTable, type Projector } from '../../../engine/projections/projector.ts'
import { insertRow, patchRow } from '../../../engine/projections/row-changes.ts'
import type { RebuildProgress } from '../../../engine/rebuild/context.ts'
import { copyNames, emptyCopy, type Copy } from '../../../engine/rebuild/copies.ts'
import { analyze, fill } from '../../../engine/rebuild/fill.ts'
import { rebuild } from '../../../engine/rebuild/rebuild.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { createPool } from '../../../platform/database/database.ts'
import { formatPosition } from '../../../platform/kit/positions.ts'
import { readRows } from '../../support/given-projector.ts'
import { breakConnections } from '../../support/postgres.ts'
import {
  closed,
  filter,
  opened,
  renamed,
  say,
  ticketBoard,
  ticketCounts,
  tickets,
  type TicketEvent,
} from '../projections/tickets.ts'
import { eventually } from '../../support/eventually.ts'
import { requestStop, stopProjector } from '../../support/stopped-projectors.ts'
import { RebuildWorld } from './rebuild-world.ts'

const world = RebuildWorld.ofThisFile()

/** Processes every event except the renaming of one ticket, until it is fixed. */
function picky(bad: string, isMended: boolean): Projector {
  return defineProjector<TicketEvent>()({
    name: 'picky_board',
    version: 1,
    tables: [tickets],
    handlers: {
      TicketOpened: ({ data, recordedAt, revision }) => [
        insertRow(tickets, {
          ticketId: data.ticketId,
          title: data.title,
          team: 'x',
          openedAt: recordedAt,
          streamRevision: revision,
        }),
      ],
      TicketRenamed: ({ data }) => {
        if (data.ticketId === bad)
          return [patchRow(tickets, { ticketId: isMended ? bad : 'nobody', title: data.title })]
        return []
      },
    },
  })
}

/** The board with another title: a handler that changed without a new version. */
const wrongBoard = defineProjector<TicketEvent>()({
  ...ticketBoard,
  handlers: {
    ...ticketBoard.handlers,
    TicketOpened: ({ data, recordedAt, revision }) => [
      insertRow(tickets, {
        ticketId: data.ticketId,
        title: 'planted',
        team: data.team,
        openedAt: recordedAt,
        streamRevision: revision,
      }),
    ],
  },
})

describe('a rebuild', () => {
  it('replaces the serving copy by equal content at the same position, and keeps the old copy', async () => {
    const [one, other] = [world.fresh(), world.fresh()]
    await say(world.store, `ticket-${one}`, opened(one), renamed(one, 'a'))
    await say(world.store, `ticket-${other}`, opened(other), closed(other))
    await world.filled([ticketBoard, ticketCounts])
    const before = { rows: await readRows(world.pool, ticketBoard), stored: await world.stored('ticket_board') }
    const progress: RebuildProgress[] = []
    const [outcome] = await rebuild(world.context({ onProgress: (step) => progress.push(step) }), [ticketBoard])
    expect(outcome).toMatchObject({
      kind: 'switched',
      versions: { from: 1, to: 1 },
      position: before.stored?.position,
      status: 'running',
      comparison: { isEqual: true },
    })
    expect(await readRows(world.pool, ticketBoard)).toEqual(before.rows)
    expect(await readRows(world.pool, { ...ticketBoard, name: 'ticket_board__previous' })).toEqual(before.rows)
    const after = await world.stored('ticket_board')
    expect(after).toMatchObject({ position: before.stored?.position, status: 'running', version: 1 })
    expect(after?.copyId).not.toBe(before.stored?.copyId)
    expect(await world.copies('ticket_board')).toEqual(['ticket_board__previous'])
    expect([...new Set(progress.map(({ phase }) => phase))]).toEqual(['filling', 'comparing', 'switching'])
    expect(progress.findLast(({ phase }) => phase === 'filling')).toMatchObject({
      position: before.stored?.position,
      target: before.stored?.position,
    })
  })

  it('fills several read models at once, each to its own position', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    const runner = world.start([ticketBoard, ticketCounts])
    await runner.caughtUp()
    await stopProjector(runner, world.pool, 'ticket_counts')
    const at = (await world.stored('ticket_counts'))?.position
    await say(world.store, `ticket-${ticket}`, renamed(ticket, 'later'))
    await eventually(async () => expect((await world.titles(ticketBoard))[ticket]).toBe('later'))
    const outcomes = await rebuild(world.context(), [ticketBoard, ticketCounts])
    expect(outcomes.map(({ kind }) => kind)).toEqual(['switched', 'switched'])
    expect(await world.stored('ticket_counts')).toMatchObject({ status: 'stopped', position: at })
    expect(
      (await readRows(world.pool, ticketCounts))['counts']?.filter((row) => row['ticket_id'] === ticket),
    ).toHaveLength(1)
    expect((await world.titles(ticketBoard))[ticket]).toBe('later')
  })

  it('detects a wrong projector, does not switch to it and leaves nothing behind', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket, 'secret title'))
    await world.filled([ticketBoard])
    const [outcome] = await rebuild(world.context(), [wrongBoard])
    expect(outcome).toMatchObject({
      kind: 'differs',
      comparison: { isEqual: false, difference: { kind: 'changed', table: 'tickets', columns: ['title'] } },
    })
    expect(
      JSON.stringify(outcome, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
    ).not.toMatch(/secret|planted/)
    expect((await world.titles(ticketBoard))[ticket]).toBe('secret title')
    expect(await world.copies('ticket_board')).toEqual([])
  })

  it('switches to different content if the operator accepts the difference', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketBoard])
    const [outcome] = await rebuild(world.context(), [wrongBoard], { acceptDifference: true })
    expect(outcome).toMatchObject({ kind: 'switched', comparison: { isEqual: false } })
    expect((await world.titles(ticketBoard))[ticket]).toBe('planted')
  })

  it('takes a failed projector past its event with a fixed handler, and the runner continues', async () => {
    const [bad, later] = [world.fresh(), world.fresh()]
    await world.filled([picky(bad, false)])
    await say(world.store, `ticket-${bad}`, opened(bad), renamed(bad, 'mended'))
    const runner = world.start([picky(bad, false)])
    await eventually(() => expect(runner.status()[0]?.state).toBe('failed'))
    const failedAt = await world.stored('picky_board')
    const [outcome] = await rebuild(world.context(), [picky(bad, true)])
    expect(outcome).toMatchObject({
      kind: 'switched',
      status: 'rebuilding',
      comparison: { isEqual: true, position: failedAt?.position },
    })
    expect((await world.titles(picky(bad, true)))[bad]).toBe('mended')
    await say(world.store, `ticket-${later}`, opened(later))
    await eventually(async () => expect((await world.titles(picky(bad, true)))[later]).toBe(`title of ${later}`))
    await eventually(async () => expect(await world.stored('picky_board')).toMatchObject({ status: 'running' }))
  })

  it('reports the event that it cannot process, switches nothing, and continues with the others', async () => {
    const bad = world.fresh()
    await say(world.store, `ticket-${bad}`, opened(bad, 'secret'), renamed(bad, 'secret too'))
    await world.filled([picky(bad, true), ticketCounts])
    const outcomes = await rebuild(world.context(), [picky(bad, false), ticketCounts])
    expect(outcomes[0]).toMatchObject({
      kind: 'failed',
      failure: { eventType: 'TicketRenamed', reason: 'patch of a missing row of tickets' },
    })
    expect(outcomes[1]).toMatchObject({ kind: 'switched' })
    expect((await world.titles(picky(bad, true)))[bad]).toBe('secret too')
    expect(await world.stored('picky_board')).toMatchObject({ status: 'running' })
    expect(await world.copies('picky_board')).toEqual([])
  })

  it('skips the events that an operator skipped', async () => {
    const bad = world.fresh()
    await say(world.store, `ticket-${bad}`, opened(bad))
    const { position } = await say(world.store, `ticket-${bad}`, renamed(bad, 'skipped'))
    const skips = async (name: string) => new Set(name === 'picky_board' ? [formatPosition(position)] : [])
    const runner = world.start([picky(bad, false)], { skips })
    await runner.caughtUp()
    await eventually(async () => expect(await world.stored('picky_board')).toMatchObject({ status: 'running' }))
    const [refused] = await rebuild(world.context(), [picky(bad, false)])
    expect(refused).toMatchObject({ kind: 'failed' })
    const [outcome] = await rebuild(world.context({ skips }), [picky(bad, false)])
    expect(outcome).toMatchObject({ kind: 'switched', comparison: { isEqual: true } })
    expect((await world.titles(picky(bad, false)))[bad]).toBe(`title of ${bad}`)
  })

  it('does not switch to a copy that contains an event skipped since', async () => {
    const ticket = world.fresh()
    const { position } = await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketBoard])
    let isSkipped = false
    const skips = async () => new Set(isSkipped ? [formatPosition(position)] : [])
    const onProgress = ({ phase }: RebuildProgress): void => {
      if (phase === 'comparing') isSkipped = true
    }
    expect(await rebuild(world.context({ skips, onProgress }), [ticketBoard])).toMatchObject([
      { kind: 'refused', message: expect.stringContaining('skipped while') as unknown },
    ])
    expect(await world.copies('ticket_board')).toEqual([])
    expect((await world.titles(ticketBoard))[ticket]).toBe(`title of ${ticket}`)
  })

  it('keeps a stopped projector stopped, at its position', async () => {
    const ticket = world.fresh()
    await world.filled([ticketBoard])
    await requestStop(world.pool, 'ticket_board')
    const before = await world.stored('ticket_board')
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    const [outcome] = await rebuild(world.context(), [ticketBoard])
    expect(outcome).toMatchObject({ kind: 'switched', status: 'stopped', position: before?.position })
    expect(Object.keys(await world.titles(ticketBoard))).not.toContain(ticket)
  })

  it('is refused without a filled read model, under a newer version, and during another rebuild', async () => {
    await world.filled([{ ...ticketBoard, version: 2 }])
    const outcomes = await rebuild(world.context(), [ticketCounts, ticketBoard])
    expect(outcomes).toMatchObject([
      { name: 'ticket_counts', kind: 'refused', reason: 'never-filled' },
      { name: 'ticket_board', kind: 'refused', reason: 'newer-version' },
    ])
    const both = await Promise.all([
      rebuild(world.context(), [{ ...ticketBoard, version: 2 }]),
      rebuild(world.context(), [{ ...ticketBoard, version: 2 }]),
    ])
    expect(
      both
        .flat()
        .map(({ kind }) => kind)
        .sort(),
    ).toEqual(['refused', 'switched'])
    expect(both.flat().find(({ kind }) => kind === 'refused')).toMatchObject({ reason: 'under-way' })
  })

  it('that is interrupted changes nothing, and another one can start', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket), renamed(ticket, 'a'), renamed(ticket, 'b'))
    await world.filled([ticketBoard])
    const before = await world.stored('ticket_board')
    for (const phase of ['filling', 'comparing', 'switching']) {
      const ending = new AbortController()
      const onProgress = (step: RebuildProgress): void => {
        if (step.phase === phase) ending.abort(new Error(`ended while ${phase}`))
      }
      const ended = rebuild(world.context({ signal: ending.signal, onProgress, batchSize: 1 }), [ticketBoard])
      if (phase === 'switching') {
        // Too late to interrupt: an immediate switch is done.
        expect(await ended).toMatchObject([{ kind: 'switched', position: before?.position }])
        expect((await world.stored('ticket_board'))?.copyId).not.toBe(before?.copyId)
        expect(await world.copies('ticket_board')).toEqual(['ticket_board__previous'])
        continue
      }
      await expect(ended).rejects.toThrow(`ended while ${phase}`)
      expect(await world.stored('ticket_board')).toMatchObject({ position: before?.position, copyId: before?.copyId })
      expect(await world.copies('ticket_board')).toEqual([])
    }
    expect(await rebuild(world.context(), [ticketBoard])).toMatchObject([
      { kind: 'switched', comparison: { isEqual: true } },
    ])
  })

  it('starts with an empty copy, whatever a killed one left', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketBoard])
    const copy = await emptyCopy(world.context(), wrongBoard, 'ticket_board__next')
    await fill(world.context(), [{ copy, upTo: await world.store.head(filter) }])
    expect((await world.titles(copy.projector))[ticket]).toBe('planted')
    expect(await rebuild(world.context(), [ticketBoard])).toMatchObject([
      { kind: 'switched', comparison: { isEqual: true } },
    ])
    expect((await world.titles(ticketBoard))[ticket]).toBe(`title of ${ticket}`)
  })

  it('of a newer version reports the difference and switches, counting rows of both', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketBoard])
    const next = {
      ...wrongBoard,
      version: 2,
      tables: wrongBoard.tables.map((table) =>
        table.name === 'news'
          ? { ...table, columns: { ...table.columns, extra: { type: 'text', nullable: true } as const } }
          : table,
      ),
    }
    const [outcome] = await rebuild(world.context(), [next])
    expect(outcome).toMatchObject({
      kind: 'switched',
      versions: { from: 1, to: 2 },
      status: 'rebuilding',
      comparison: { isEqual: false, difference: { kind: 'changed', table: 'tickets' } },
    })
    expect((await world.titles(next))[ticket]).toBe('planted')
    expect(await world.stored('ticket_board')).toMatchObject({ version: 2 })
  })

  it('reports the outcome of every projector, whatever happened to another one', async () => {
    const ticket = world.fresh()
    const { position } = await say(world.store, `ticket-${ticket}`, opened(ticket))
    const others = ['one', 'two'].map((name) => ({ ...ticketCounts, name }))
    const projectors = [ticketBoard, ...others, ticketCounts]
    await world.filled(projectors)
    let isSkipped = false
    let taking: Promise<Copy> | undefined
    const skips = async (name: string) => {
      await taking
      return new Set(isSkipped && name === 'two' ? [formatPosition(position)] : [])
    }
    const onProgress = ({ phase, projector }: RebuildProgress): void => {
      if (phase === 'comparing' && projector === 'ticket_board')
        taking = emptyCopy(world.context(), { ...ticketCounts, name: 'one' }, 'one__next')
      isSkipped ||= phase === 'comparing' && projector === 'two'
    }
    const outcomes = await rebuild(world.context({ skips, onProgress }), projectors)
    expect(outcomes).toMatchObject([
      { name: 'ticket_board', kind: 'switched' },
      { name: 'one', kind: 'refused', reason: 'interrupted' },
      {
        name: 'two',
        kind: 'refused',
        reason: 'interrupted',
        message: expect.stringContaining('skipped while') as unknown,
      },
      { name: 'ticket_counts', kind: 'switched' },
    ])
    // This rebuild must not drop a copy of that name that another process fills now.
    expect(await world.stored('one__next')).toMatchObject({ copyId: (await taking)?.copyId })
    expect(await world.copies('one')).toEqual(['one__next'])
    expect(await world.copies('two')).toEqual([])
  })

  it('fills the others if one of its copies is lost, and reports that at the end', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    const upTo = await world.store.head(filter)
    await world.filled([ticketBoard, ticketCounts])
    const [lost, kept] = [
      await emptyCopy(world.context(), ticketBoard, 'ticket_board__next'),
      await emptyCopy(world.context(), ticketCounts, 'ticket_counts__next'),
    ]
    await world.pool.query(`delete from runtime.projectors where name = 'ticket_board__next'`)
    await expect(
      fill(world.context(), [
        { copy: lost, upTo },
        { copy: kept, upTo },
      ]),
    ).rejects.toThrow('ticket_board__next no longer belongs to this process')
    expect(kept.position).toEqual(upTo)
    expect(await world.stored('ticket_counts__next')).toMatchObject({ position: upTo })
  })

  it('by a newer program is refused while a runner of the older one is active, and leaves it active', async () => {
    const ticket = world.fresh()
    const runner = world.start([ticketBoard])
    await runner.caughtUp()
    const before = await world.stored('ticket_board')
    const reshaped = { ...ticketBoard, tables: ticketBoard.tables.toReversed() }
    for (const program of [{ ...ticketBoard, version: 2 }, reshaped]) {
      expect(await rebuild(world.context(), [program])).toMatchObject([{ kind: 'refused', reason: 'other-version' }])
    }
    expect(await world.stored('ticket_board')).toMatchObject({ copyId: before?.copyId, version: 1 })
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await eventually(async () => expect((await world.titles(ticketBoard))[ticket]).toBe(`title of ${ticket}`))
    await runner.close()
    expect(await rebuild(world.context(), [{ ...ticketBoard, version: 2 }])).toMatchObject([
      { kind: 'switched', versions: { from: 1, to: 2 } },
    ])
  })

  it('of a version with other keys counts the rows of both', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket), renamed(ticket, 'a'))
    await world.filled([ticketCounts])
    const touches = defineTable({
      name: 'counts',
      columns: { touch_id: 'uuid', ticket_id: 'text' },
      primaryKey: ['touch_id'],
    })
    const next = defineProjector<TicketEvent>()({
      name: 'ticket_counts',
      version: 2,
      tables: [touches],
      handlers: { TicketOpened: ({ id, data }) => [insertRow(touches, { touchId: id, ticketId: data.ticketId })] },
    })
    const { rows } = await world.pool.query<{ served: number }>(
      `select count(*)::int as served from ticket_counts.counts`,
    )
    const [outcome] = await rebuild(world.context(), [next])
    expect(outcome).toMatchObject({
      kind: 'switched',
      comparison: {
        difference: { kind: 'shape', table: 'counts', columns: ['event_id', 'touch_id'] },
        tables: [{ table: 'counts', rows: rows[0]?.served, hash: '', copyHash: '' }],
      },
    })
    const copyRows = outcome?.kind === 'switched' ? outcome.comparison.tables[0]?.copyRows : undefined
    expect(copyRows).toBeGreaterThan(0)
    expect(copyRows).toBeLessThan(rows[0]?.served ?? 0)
  })

  it('with connections that break repeatedly changes nothing that serves, and succeeds once they hold', async () => {
    const ticket = world.fresh()
    await say(
      world.store,
      `ticket-${ticket}`,
      opened(ticket),
      ...Array.from({ length: 60 }, (_, index) => renamed(ticket, `title ${index}`)),
    )
    const runner = world.start([ticketBoard])
    await runner.caughtUp()
    const cut = () => breakConnections(world.databaseUrl)
    for (let round = 0; round < 6; round += 1) {
      let steps = 0
      const onProgress = (): void => {
        steps += 1
        if (steps === 1 + round * 3) void cut().catch(() => undefined)
      }
      const before = await world.stored('ticket_board')
      const isSwitched = await rebuild(world.context({ onProgress, batchSize: 5 }), [ticketBoard]).then(
        ([outcome]) => outcome?.kind === 'switched',
        () => false,
      )
      await eventually(async () =>
        expect((await world.stored('ticket_board'))?.copyId !== before?.copyId).toBe(isSwitched),
      )
      expect((await world.titles(ticketBoard))[ticket]).toBe('title 59')
    }
    await eventually(async () => {
      const [outcome] = await rebuild(world.context(), [ticketBoard])
      expect(outcome).toMatchObject({ kind: 'switched', comparison: { isEqual: true } })
    })
    await say(world.store, `ticket-${ticket}`, renamed(ticket, 'last'))
    await eventually(async () => expect((await world.titles(ticketBoard))[ticket]).toBe('last'))
  })
})

it('waits for the statistics of a copy for longer than for other statements', async () => {
  await ensureRuntimeSchema(world.pool)
  const { projector } = await emptyCopy(world.context(), ticketCounts, copyNames(ticketCounts.name).next)
  const pool = createPool({ url: world.databaseUrl, statementTimeoutMs: 300 })
  const other = await world.pool.connect()
  await other.query(`begin; lock table ${projector.name}.counts in share update exclusive mode`)
  const analyzed = analyze(pool, projector).then(
    () => 'analyzed',
    (error: unknown) => error,
  )
  await eventually(async () => {
    const waiting = `select from pg_stat_activity where datname = current_database() and query like 'analyze%'
      and wait_event_type = 'Lock' and clock_timestamp() - query_start > interval '500 ms'`
    expect((await world.pool.query(waiting)).rowCount).toBe(1)
  })
  await other.query('commit')
  other.release()
  expect(await analyzed).toBe('analyzed')
  await pool.end()
})
