import { describe, expect, it, vi } from 'vitest'
import { ReadPositions } from '../../../engine/projections/read-positions.ts'
import { partOf, writeBatch } from '../../../engine/projections/batch-writer.ts'
import type { RebuildProgress } from '../../../engine/rebuild/context.ts'
import { emptyCopy } from '../../../engine/rebuild/copies.ts'
import { CopyLostError, fill } from '../../../engine/rebuild/fill.ts'
import { rebuild } from '../../../engine/rebuild/rebuild.ts'
import { switchOver } from '../../../engine/rebuild/switch.ts'
import { pause } from '../../../platform/kit/backoff.ts'
import { EventStoreUnavailableError } from '../../../engine/store/errors.ts'
import type { LogRead } from '../../../engine/store/log-reading.ts'
import { comparePositions, type Position } from '../../../platform/kit/positions.ts'
import { recorded } from '../../support/given-projector.ts'
import { filter, opened, renamed, say, ticketBoard, ticketCounts } from '../projections/tickets.ts'
import { eventually } from '../../support/eventually.ts'
import { RebuildWorld } from './rebuild-world.ts'
import { rebuildUnderLoad } from './under-load.ts'

const world = RebuildWorld.ofThisFile()

async function* readingAfter(check: () => Promise<void>, read: LogRead): ReturnType<typeof world.store.readLog> {
  await check()
  yield* world.store.readLog(read)
}

async function waiting(query: string): Promise<void> {
  const { rows } = await world.pool.query(
    `select from pg_stat_activity where wait_event_type = 'Lock' and query like $1`,
    [query],
  )
  expect(rows).toHaveLength(1)
}

describe('a switch', () => {
  it('waits for a batch that is being written, and includes it', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketCounts])
    const from = (await world.stored('ticket_counts'))?.position
    if (from === undefined) throw new TypeError('nothing was filled')
    const { position: to } = await say(world.store, `ticket-${ticket}`, renamed(ticket, 'in flight'))
    const writer = await world.pool.connect()
    await writer.query('begin')
    await writer.query(
      `update runtime.projectors set commit_position = $1, prepare_position = $2 where name = 'ticket_counts'`,
      [to.commit.toString(), to.prepare.toString()],
    )
    await writer.query(`insert into ticket_counts.counts select gen_random_uuid(), $1`, [ticket])
    let isSwitched = false
    const switching = rebuild(world.context(), [ticketCounts]).then((outcomes) => {
      isSwitched = true
      return outcomes
    })
    await eventually(async () => {
      const { rows } = await world.pool.query(
        `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%runtime.projectors%'`,
      )
      expect(rows.length).toBeGreaterThan(0)
    })
    expect(isSwitched).toBe(false)
    await writer.query('commit')
    writer.release()
    expect(await switching).toMatchObject([{ kind: 'switched', position: to }])
    const { rows } = await world.pool.query('select from ticket_counts.counts where ticket_id = $1', [ticket])
    expect(rows).toHaveLength(2)
  })

  it('lets a waiting writer continue in the new copy', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketCounts])
    const from = (await world.stored('ticket_counts'))?.position
    if (from === undefined) throw new TypeError('nothing was filled')
    const events = recorded([renamed(ticket, 'waits')])
    const to = { commit: from.commit + 1n, prepare: from.prepare + 1n }
    // A held lock on the copy's row makes the switch wait while it holds the serving one. A writer that comes now must
    // wait.
    const holder = await world.pool.connect()
    let reads = 0
    const skips = async (): Promise<ReadonlySet<string>> => {
      reads += 1
      if (reads === 2)
        await holder.query(`begin; select from runtime.projectors where name = 'ticket_counts__next' for update`)
      return new Set()
    }
    const switching = rebuild(world.context({ skips }), [ticketCounts])
    await eventually(() => waiting('%for update'))
    const writing = writeBatch(world.pool, [partOf(ticketCounts, events, from, to)])
    await eventually(() => waiting('%shape_id%'))
    await holder.query('commit')
    holder.release()
    expect(await switching).toMatchObject([{ kind: 'switched', position: from }])
    expect([...(await writing)].map(({ table }) => table)).toEqual(['counts'])
    const { rows } = await world.pool.query('select from ticket_counts.counts where event_id = $1', [events[0]?.id])
    expect(rows).toHaveLength(1)
    expect(await world.stored('ticket_counts')).toMatchObject({ position: to })
  })

  it('gives up on a lock that it does not get, and succeeds when it is free', async () => {
    await world.filled([ticketBoard])
    const before = await world.stored('ticket_board')
    const holder = await world.pool.connect()
    let reads = 0
    const skips = async (): Promise<ReadonlySet<string>> => {
      reads += 1
      if (reads === 2)
        await holder.query(`begin; select from runtime.projectors where name = 'ticket_board' for update`)
      return new Set()
    }
    const switching = rebuild(world.context({ skips }), [ticketBoard])
    // The third read belongs to the second attempt.
    await eventually(() => expect(reads).toBeGreaterThan(2))
    expect((await world.stored('ticket_board'))?.copyId).toBe(before?.copyId)
    await holder.query('commit')
    holder.release()
    expect(await switching).toMatchObject([{ kind: 'switched', position: before?.position }])
    expect((await world.stored('ticket_board'))?.copyId).not.toBe(before?.copyId)
  })

  it('ends an attempt that holds the checkpoint for too long, and fills the slow part without a lock', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketCounts])
    let to: Position | undefined
    let reads = 0
    const skips = async (): Promise<ReadonlySet<string>> => {
      reads += 1
      if (reads !== 2) return new Set()
      await world.pool
        .query(`create function ticket_counts__next.slow() returns trigger language plpgsql as $$ begin perform pg_sleep(3); return null; end $$;
        create trigger slow after insert on ticket_counts__next.counts for each statement execute function ticket_counts__next.slow()`)
      ;({ position: to } = await say(world.store, `ticket-${ticket}`, renamed(ticket, 'slow')))
      await world.pool.query(
        `update runtime.projectors set commit_position = $1, prepare_position = $2 where name = 'ticket_counts'`,
        [to.commit.toString(), to.prepare.toString()],
      )
      return new Set()
    }
    expect(await rebuild(world.context({ skips }), [ticketCounts])).toMatchObject([{ kind: 'switched', position: to }])
    expect(reads).toBe(3)
    const { rows } = await world.pool.query('select from ticket_counts.counts where ticket_id = $1', [ticket])
    expect(rows).toHaveLength(2)
  })

  it('holds no lock during calls to the event store if nobody writes meanwhile', async () => {
    const ticket = world.fresh()
    await world.filled([ticketBoard])
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    let held = 0
    const lockable = async (): Promise<void> => {
      const { rows } = await world.pool.query(
        `select from runtime.projectors where name = 'ticket_board' for update skip locked`,
      )
      if (rows.length === 0) held += 1
    }
    const asked: string[] = []
    const eventStore = {
      head: async (...given: Parameters<typeof world.store.head>) => {
        await lockable()
        asked.push('head')
        return world.store.head(...given)
      },
      readLog: (read: LogRead) => {
        asked.push('readLog')
        return readingAfter(lockable, read)
      },
    }
    const skips = async (): Promise<ReadonlySet<string>> => {
      await lockable()
      asked.push('skips')
      return new Set()
    }
    expect(await rebuild(world.context({ eventStore, skips }), [ticketBoard])).toMatchObject([{ kind: 'switched' }])
    expect(held).toBe(0)
    expect(asked.slice(-3)).toEqual(['skips', 'head', 'readLog'])
  })

  it('releases its lock if the event store does not answer under it, and succeeds at a later attempt', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketCounts])
    const isLocked = async (): Promise<boolean> => {
      const { rows } = await world.pool.query(
        `select from runtime.projectors where name = 'ticket_counts' for update skip locked`,
      )
      return rows.length === 0
    }
    const released = Promise.withResolvers<void>()
    let to: Position | undefined
    const seen = { isUnderLock: false, isDue: false, tries: 0, begun: 0, ended: 0 }
    // Ignores the signal, as a read does while it waits for a key of the vault.
    async function* hangs(read: LogRead): ReturnType<typeof world.store.readLog> {
      seen.begun += 1
      try {
        seen.isUnderLock ||= await isLocked()
        await released.promise
        yield* world.store.readLog(read)
      } finally {
        seen.ended += 1
      }
    }
    const eventStore = {
      head: async (...given: Parameters<typeof world.store.head>) => {
        const head = await world.store.head(...given)
        // The writer continues after the switch has read the end of the log and before it locks; and once more if the
        // lock was gone before the check.
        if (seen.tries > 0 && !seen.isUnderLock) {
          ;({ position: to } = await say(world.store, `ticket-${ticket}`, renamed(ticket, 'since')))
          await world.pool.query(
            `update runtime.projectors set commit_position = $1, prepare_position = $2 where name = 'ticket_counts'`,
            [to.commit.toString(), to.prepare.toString()],
          )
          seen.isDue = true
        }
        return head
      },
      readLog: (read: LogRead) => {
        if (!seen.isDue) return world.store.readLog(read)
        seen.isDue = false
        return hangs(read)
      },
    }
    const onProgress = ({ phase }: RebuildProgress): void => {
      if (phase === 'switching') seen.tries += 1
    }
    const switching = rebuild(world.context({ eventStore, onProgress }), [ticketCounts])
    try {
      await eventually(() => expect(seen.isUnderLock).toBe(true))
      await eventually(async () => expect(await isLocked()).toBe(false))
      expect(await switching).toMatchObject([{ kind: 'switched', position: to }])
      expect(seen.tries).toBeGreaterThan(1)
      expect(seen.ended).toBe(0)
    } finally {
      released.resolve()
      await switching
    }
    const { rows } = await world.pool.query('select from ticket_counts.counts where ticket_id = $1', [ticket])
    expect(rows).toHaveLength(1 + seen.begun)
    await eventually(() => expect(seen.ended).toBe(seen.begun))
  })

  it('does not abandon a copy for a missing answer of the event store', async () => {
    const ticket = world.fresh()
    await world.filled([ticketBoard])
    const before = await world.stored('ticket_board')
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    const away = { skips: 2, head: 2, readLog: 2 }
    const fails = (call: keyof typeof away): boolean => {
      away[call] -= 1
      return away[call] >= 0
    }
    let isFilled = false
    const eventStore = {
      head: (...given: Parameters<typeof world.store.head>) =>
        isFilled && fails('head') ? Promise.reject(new EventStoreUnavailableError('$all')) : world.store.head(...given),
      readLog: (read: LogRead) =>
        isFilled && fails('readLog')
          ? readingAfter(() => Promise.reject(new EventStoreUnavailableError('$all')), read)
          : world.store.readLog(read),
    }
    const skips = async (): Promise<ReadonlySet<string>> => {
      if (isFilled && fails('skips')) throw new EventStoreUnavailableError('projection-ticket_board')
      return new Set()
    }
    const onProgress = ({ phase }: RebuildProgress): void => {
      isFilled ||= phase === 'switching'
    }
    expect(await rebuild(world.context({ eventStore, skips, onProgress }), [ticketBoard])).toMatchObject([
      { kind: 'switched', position: before?.position },
    ])
    expect(Math.max(...Object.values(away))).toBeLessThanOrEqual(0)
  })

  it('with a lost answer is done, whatever position its writer has reached since', async () => {
    const ticket = world.fresh()
    await world.filled([ticketBoard])
    const upTo = (await world.stored('ticket_board'))?.position
    if (upTo === undefined) throw new TypeError('nothing was filled')
    const copy = await emptyCopy(world.context(), ticketBoard, 'ticket_board__next')
    await fill(world.context(), [{ copy, upTo }])
    expect(await switchOver(world.context(), copy)).toMatchObject({ position: upTo, from: 1 })
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketBoard])
    const ended = AbortSignal.abort(new Error('the connection was lost'))
    expect(await switchOver(world.context({ signal: ended }), copy)).toMatchObject({
      position: (await world.stored('ticket_board'))?.position,
    })
    expect(await world.stored('ticket_board')).toMatchObject({ copyId: copy.copyId })
  })

  it('refuses a copy whose last writes the database has lost', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketCounts])
    const before = await world.stored('ticket_counts')
    if (before === undefined) throw new TypeError('nothing was filled')
    const copy = await emptyCopy(world.context(), ticketCounts, 'ticket_counts__next')
    await fill(world.context(), [{ copy, upTo: before.position }])
    // A fill does not wait for the disk. After a crash of the database, rows and checkpoint are those of an earlier batch.
    await world.pool.query(
      `delete from ticket_counts__next.counts;
       update runtime.projectors set commit_position = 0, prepare_position = 0 where name = 'ticket_counts__next'`,
    )
    await expect(switchOver(world.context(), copy)).rejects.toThrow(CopyLostError)
    expect((await world.stored('ticket_counts'))?.copyId).toBe(before.copyId)
  })

  it('gives way to a reader that locks the tables', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketBoard])
    expect(await rebuild(world.context(), [ticketBoard])).toMatchObject([{ kind: 'switched' }])
    const before = await world.stored('ticket_board')
    const reader = await world.pool.connect()
    await reader.query('begin isolation level repeatable read')
    await reader.query('select * from ticket_board__previous.tickets')
    await reader.query('select * from ticket_board.tickets')
    const warn = vi.fn()
    const switching = rebuild(
      world.context({ logger: { debug: () => undefined, info: () => undefined, error: () => undefined, warn } }),
      [ticketBoard],
    )
    await eventually(() => expect(warn).toHaveBeenCalled())
    // The switch is done. Only the drop of the oldest copy waits for the reader.
    expect((await world.stored('ticket_board'))?.copyId).not.toBe(before?.copyId)
    await reader.query('commit')
    reader.release()
    expect(await switching).toMatchObject([{ kind: 'switched' }])
    expect(await rebuild(world.context(), [ticketBoard])).toMatchObject([{ kind: 'switched' }])
    expect(await world.copies('ticket_board')).toEqual(['ticket_board__previous'])
  })

  it('never reports a write to a reader that the serving copy does not contain', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    const runner = world.start([ticketBoard, ticketCounts])
    await runner.caughtUp()
    const readers = [
      new ReadPositions({ pool: world.pool, projectors: [ticketBoard] }),
      new ReadPositions({ pool: world.pool, projectors: [ticketBoard], runner }),
    ]
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
        expect(await positions.requireHead((asked) => world.store.head(filter, asked), 'ticket_board', 10_000)).toBe(
          true,
        )
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

  // The last, because each test reads the whole log, and this one makes it longest. `many-switches.int` has ten.
  it('five times in a row under load fails no query, loses no row, and its writer continues', () =>
    rebuildUnderLoad(world, 5))
})
