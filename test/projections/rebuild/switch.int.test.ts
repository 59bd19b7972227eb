import { describe, expect, it, vi } from 'vitest'
import { createReadPositions } from '../../../projections/runtime/read-positions.ts'
import { shareOf, writeShares } from '../../../projections/runtime/batch-writer.ts'
import { rebuild } from '../../../projections/rebuild/rebuild.ts'
import { pause } from '../../../streams/store/backoff.ts'
import { comparePositions, type Position } from '../../../streams/store/positions.ts'
import { recorded } from '../../support/given-projector.ts'
import { filter, opened, renamed, say, ticketBoard, ticketCounts } from '../runtime/tickets.ts'
import { eventually, RebuildWorld } from './rebuild-world.ts'

const world = RebuildWorld.ofThisFile()

/** Appends and selects without a pause until it is ended; what was acknowledged, and every select that failed. */
function startLoad(ticket: string) {
  const ending = new AbortController()
  const failures: unknown[] = []
  let appended = 0
  let selects = 0
  const writing = (async () => {
    while (!ending.signal.aborted) {
      await say(world.store, `ticket-${ticket}`, renamed(ticket, `title ${appended}`))
      appended += 1
    }
  })()
  const reading = Array.from({ length: 2 }, async () => {
    let seen = 0
    while (!ending.signal.aborted) {
      try {
        const { rows } = await world.pool.query<{ count: number }>('select count(*)::int as count from ticket_counts.counts where ticket_id = $1', [ticket])
        const count = rows[0]?.count ?? 0
        if (count < seen) throw new Error(`${count} rows after ${seen}`)
        seen = count
        selects += 1
      } catch (error) {
        failures.push(error)
      }
    }
  })
  return {
    failures,
    end: async () => {
      ending.abort()
      await Promise.all([writing, ...reading])
      return { appended, selects }
    },
  }
}

describe('a switch', () => {
  it('twenty times in a row under load fails no query, loses no row, and its writer goes on', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    const subscribing = vi.spyOn(world.store, 'subscribeToAll')
    const runner = world.start([ticketBoard, ticketCounts])
    await runner.caughtUp()
    await eventually(() => expect(runner.status().map(({ state }) => state)).toEqual(['live', 'live']))
    const begun = subscribing.mock.calls.length
    const states = new Set<string>()
    const watch = setInterval(() => runner.status().forEach(({ state }) => states.add(state)), 1)
    const load = startLoad(ticket)
    const copies = new Set<string | undefined>()
    for (let round = 0; round < 20; round += 1) {
      expect(await rebuild(world.context(), [ticketCounts])).toMatchObject([{ kind: 'switched', status: 'running', comparison: { isEqual: true } }])
      copies.add((await world.stored('ticket_counts'))?.copyId)
    }
    const { appended, selects } = await load.end()
    clearInterval(watch)
    expect(load.failures).toEqual([])
    expect(copies.size).toBe(20)
    expect([appended > 0, selects > 0]).toEqual([true, true])
    await eventually(async () => {
      const { rows } = await world.pool.query('select from ticket_counts.counts where ticket_id = $1', [ticket])
      expect(rows).toHaveLength(appended + 1)
    })
    expect((await world.titles(ticketBoard))[ticket]).toBe(`title ${appended - 1}`)
    // Nobody stood back, and the log is read by whoever read it before.
    expect([...states]).toEqual(['live'])
    expect(subscribing).toHaveBeenCalledTimes(begun)
    subscribing.mockRestore()
    expect(await world.copies('ticket_counts')).toEqual(['ticket_counts__previous'])
  })

  it('waits for a batch that is being written, and takes it along', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketCounts])
    const from = (await world.stored('ticket_counts'))?.position
    if (from === undefined) throw new TypeError('nothing was filled')
    const { position: to } = await say(world.store, `ticket-${ticket}`, renamed(ticket, 'in flight'))
    const writer = await world.pool.connect()
    await writer.query('begin')
    await writer.query(`update runtime.projectors set commit_position = $1, prepare_position = $2 where name = 'ticket_counts'`, [to.commit.toString(), to.prepare.toString()])
    await writer.query(`insert into ticket_counts.counts select gen_random_uuid(), $1`, [ticket])
    let isSwitched = false
    const switching = rebuild(world.context(), [ticketCounts]).then((outcomes) => {
      isSwitched = true
      return outcomes
    })
    await eventually(async () => {
      const { rows } = await world.pool.query(`select from pg_stat_activity where wait_event_type = 'Lock' and query like '%runtime.projectors%'`)
      expect(rows.length).toBeGreaterThan(0)
    })
    expect(isSwitched).toBe(false)
    await writer.query('commit')
    writer.release()
    expect(await switching).toMatchObject([{ kind: 'switched', position: to }])
    const { rows } = await world.pool.query('select from ticket_counts.counts where ticket_id = $1', [ticket])
    expect(rows).toHaveLength(2)
  })

  it('lets a writer that waits for it go on in the new copy', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketCounts])
    const from = (await world.stored('ticket_counts'))?.position
    if (from === undefined) throw new TypeError('nothing was filled')
    const events = recorded([renamed(ticket, 'waits')])
    const to = { commit: from.commit + 1n, prepare: from.prepare + 1n }
    let written: Promise<string[]> | undefined
    // The skips are read while the switch holds the checkpoint: a writer that comes now has to wait.
    let reads = 0
    const skips = async (): Promise<ReadonlySet<string>> => {
      reads += 1
      if (reads === 2) {
        written = writeShares(world.pool, [shareOf(ticketCounts, events, from, to)])
        await eventually(async () => {
          const { rows } = await world.pool.query(`select from pg_stat_activity where wait_event_type = 'Lock' and query like '%shape_id%'`)
          expect(rows).toHaveLength(1)
        })
      }
      return new Set()
    }
    expect(await rebuild(world.context({ skips }), [ticketCounts])).toMatchObject([{ kind: 'switched', position: from }])
    expect(await written).toEqual(['ticket_counts.counts'])
    const { rows } = await world.pool.query('select from ticket_counts.counts where event_id = $1', [events[0]?.id])
    expect(rows).toHaveLength(1)
    expect(await world.stored('ticket_counts')).toMatchObject({ position: to })
  })

  it('gives way to a reader that holds the tables, and to a lock that does not come', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketBoard])
    expect(await rebuild(world.context(), [ticketBoard])).toMatchObject([{ kind: 'switched' }])
    const reader = await world.pool.connect()
    await reader.query('begin isolation level repeatable read')
    await reader.query('select * from ticket_board__previous.tickets')
    await reader.query('select * from ticket_board.tickets')
    const warn = vi.fn()
    const switching = rebuild(world.context({ logger: { debug: () => undefined, info: () => undefined, error: () => undefined, warn } }), [ticketBoard])
    await eventually(() => expect(warn).toHaveBeenCalled())
    // The switch is done; only what served before the previous copy waits for the reader.
    expect((await world.stored('ticket_board__previous'))?.status).toBe('stopped')
    await reader.query('commit')
    reader.release()
    expect(await switching).toMatchObject([{ kind: 'switched' }])
    expect(await rebuild(world.context(), [ticketBoard])).toMatchObject([{ kind: 'switched' }])
    expect(await world.copies('ticket_board')).toEqual(['ticket_board__previous'])
  })

  it('never lets a reader be told of a write that the serving copy does not hold', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    const runner = world.start([ticketBoard, ticketCounts])
    await runner.caughtUp()
    const readers = [createReadPositions({ pool: world.pool, projectors: [ticketBoard] }), createReadPositions({ pool: world.pool, projectors: [ticketBoard], runner })]
    const ending = new AbortController()
    let checked = 0
    let last: Position | undefined
    const checking = readers.map(async (positions) => {
      while (!ending.signal.aborted) {
        const title = `write ${checked}`
        const mine = world.fresh()
        const { position } = await say(world.store, `ticket-${mine}`, opened(mine, title))
        if (last === undefined || comparePositions(last, position) < 0) last = position
        const { caughtUp } = await positions.waitFor(position, ['ticket_board'], 10_000)
        const { rows } = await world.pool.query('select from ticket_board.tickets where ticket_id = $1', [mine])
        expect([caughtUp, rows.length]).toEqual([true, 1])
        expect(await positions.requireHead((reached) => world.store.head(filter, { downTo: reached }), 'ticket_board', 10_000)).toBe(true)
        checked += 1
      }
    })
    for (let round = 0; round < 5; round += 1) {
      expect(await rebuild(world.context(), [ticketBoard])).toMatchObject([{ kind: 'switched' }])
      await pause(5)
    }
    ending.abort()
    await Promise.all(checking)
    for (const positions of readers) positions.close()
    expect(checked).toBeGreaterThan(5)
  })
})
