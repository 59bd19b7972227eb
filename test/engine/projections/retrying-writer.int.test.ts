import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { partOf } from '../../../engine/projections/batch-writer.ts'
import { failureOf, readCheckpoints } from '../../../engine/projections/checkpoints.ts'
import type { Member, MemberBatch } from '../../../engine/projections/feed.ts'
import type { Projector } from '../../../engine/projections/projector.ts'
import { ensureRuntimeSchema, prepareProjector } from '../../../engine/projections/schema.ts'
import { RetryingWriter } from '../../../engine/projections/retrying-writer.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { startOfLog } from '../../../platform/kit/positions.ts'
import { readRows, recorded } from '../../support/given-projector.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { closed, emptyDatabase, opened, renamed, silentLogger, ticketBoard, ticketCounts } from './tickets.ts'
import { eventually } from '../../support/eventually.ts'

let database: FreshDatabase
let pool: Pool
const copyIds = new Map<string, string>()

beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 4 })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})
beforeEach(async () => {
  await ensureRuntimeSchema(pool)
  for (const projector of [ticketBoard, ticketCounts]) {
    const { copyId } = await inTransaction(pool, (client) => prepareProjector(client, projector))
    copyIds.set(projector.name, copyId)
  }
})
afterEach(() => emptyDatabase(pool))

const events = recorded([opened('1'), renamed('1', 'a'), renamed('1', 'b')])

function batchOf(projector: Projector, given = events): MemberBatch & { readonly member: Member } {
  const to = given.at(-1)?.position ?? startOfLog
  const member = { projector, position: to, isActive: true, copyId: copyIds.get(projector.name) ?? '' }
  return { member, events: given, part: partOf(projector, given, startOfLog, to) }
}

function listener() {
  return { written: vi.fn(), lost: vi.fn(), failed: vi.fn(), databaseGone: vi.fn() }
}

describe('the writer of batches', () => {
  it('recognises its own commit if the answer was lost', async () => {
    const impatient = createPool({ url: database.url, max: 2, statementTimeoutMs: 100 })
    const batch = batchOf(ticketCounts)
    // The checkpoint is locked until the first attempt has given up. Then it is moved to where that attempt would have
    // moved it.
    const holder = await pool.connect()
    await holder.query('begin')
    await holder.query(
      `update runtime.projectors set commit_position = 300, prepare_position = 300 where name = 'ticket_counts'`,
    )
    const writes = listener()
    const warn = vi.fn()
    const writing = new RetryingWriter(
      impatient,
      { ...silentLogger, warn },
      writes,
      new AbortController().signal,
    ).write([batch])
    await eventually(() => expect(warn).toHaveBeenCalled())
    await holder.query('commit')
    holder.release()
    await writing
    await impatient.end()
    expect(writes.written).toHaveBeenCalledExactlyOnceWith([{ member: batch.member, part: batch.part }])
    expect(writes.lost).not.toHaveBeenCalled()
    expect(batch.member.isActive).toBe(true)
  })

  it('gives way to an instance that moved the checkpoint, and writes the other parts', async () => {
    await pool.query(`update runtime.projectors set commit_position = 7 where name = 'ticket_counts'`)
    const writes = listener()
    const [lost, kept] = [batchOf(ticketCounts), batchOf(ticketBoard)]
    // Nobody watches the ticket, so nothing was written to the news.
    const written = kept.part?.writes.filter(({ table }) => table === 'tickets')
    await new RetryingWriter(pool, silentLogger, writes, new AbortController().signal).write([lost, kept])
    expect(writes.lost).toHaveBeenCalledExactlyOnceWith(lost.member)
    expect(lost.member.isActive).toBe(false)
    expect(writes.written).toHaveBeenCalledExactlyOnceWith([
      { member: kept.member, part: { ...kept.part, writes: written } },
    ])
    expect((await readRows(pool, ticketCounts))['counts']).toEqual([])
  })

  it('writes up to the event that a projector cannot process, and everything for the others', async () => {
    const given = recorded([opened('1'), renamed('1', 'a'), renamed('nobody', 'x'), renamed('1', 'b'), closed('1')])
    const writes = listener()
    const [stopped, kept] = [batchOf(ticketBoard, given), batchOf(ticketCounts, given)]
    await new RetryingWriter(pool, silentLogger, writes, new AbortController().signal).write([stopped, kept])
    expect(writes.failed).toHaveBeenCalledExactlyOnceWith(
      stopped.member,
      expect.objectContaining({ eventId: given[2]?.id, reason: 'patch of a missing row of tickets' }),
    )
    expect((await readRows(pool, ticketBoard))['tickets']).toMatchObject([{ ticket_id: '1', title: 'a' }])
    expect((await readRows(pool, ticketCounts))['counts']).toHaveLength(4)
    const { rows } = await pool.query(
      `select name, commit_position::int as place, status from runtime.projectors order by name`,
    )
    expect(rows).toEqual([
      { name: 'ticket_board', place: 200, status: 'failed' },
      { name: 'ticket_counts', place: 500, status: 'rebuilding' },
    ])
  })

  it('reaches the end of a batch that could only be written event by event', async () => {
    await pool.query(`create function ticket_counts.one_row() returns trigger language plpgsql as $$ begin
      if (select count(*) from added) > 1 then raise exception 'too many'; end if; return null; end $$;
      create trigger one_row after insert on ticket_counts.counts referencing new table as added for each statement execute function ticket_counts.one_row()`)
    const { member } = batchOf(ticketCounts)
    const to = { commit: 450n, prepare: 450n }
    const writes = listener()
    await new RetryingWriter(pool, silentLogger, writes, new AbortController().signal).write([
      { member, events, part: partOf(ticketCounts, events, startOfLog, to) },
    ])
    expect((await readRows(pool, ticketCounts))['counts']).toHaveLength(3)
    expect((await readCheckpoints(pool, ['ticket_counts'])).get('ticket_counts')?.position).toEqual(to)
    expect(writes.written).toHaveBeenLastCalledWith([{ member, part: expect.objectContaining({ to, writes: [] }) }])
    expect(member.isActive).toBe(true)
  })

  it('writes a batch event by event if it takes longer than a statement may', async () => {
    await pool.query(`create function ticket_counts.slow() returns trigger language plpgsql as $$ begin
      perform pg_sleep(0.04); return new; end $$;
      create trigger slow before insert on ticket_counts.counts for each row execute function ticket_counts.slow()`)
    const titles = Array.from({ length: 8 }, (_, number) => renamed('1', `${number}`))
    const given = recorded([opened('1'), ...titles])
    const impatient = createPool({ url: database.url, max: 2, statementTimeoutMs: 150 })
    const writes = listener()
    const [slow, quick] = [batchOf(ticketCounts, given), batchOf(ticketBoard, given)]
    await new RetryingWriter(impatient, silentLogger, writes, new AbortController().signal).write([slow, quick])
    await impatient.end()
    expect((await readRows(pool, ticketCounts))['counts']).toHaveLength(given.length)
    expect((await readRows(pool, ticketBoard))['tickets']).toMatchObject([{ ticket_id: '1', title: '7' }])
    expect(writes.failed).not.toHaveBeenCalled()
  })

  it('records no failure for a copy that replaced the failed one', async () => {
    const given = recorded([renamed('nobody', 'x')])
    const batch = batchOf(ticketBoard, given)
    await pool.query(`update runtime.projectors set copy_id = gen_random_uuid() where name = 'ticket_board'`)
    const writes = listener()
    await new RetryingWriter(pool, silentLogger, writes, new AbortController().signal).write([batch])
    expect(writes.lost).toHaveBeenCalledExactlyOnceWith(batch.member)
    expect(writes.failed).not.toHaveBeenCalled()
    expect((await readCheckpoints(pool, ['ticket_board'])).get('ticket_board')?.status).toBe('rebuilding')
  })

  it('records no failure for a copy that has passed the event', async () => {
    const [event] = recorded([renamed('nobody', 'x')])
    if (event === undefined) throw new TypeError('no event')
    const { member } = batchOf(ticketBoard)
    await pool.query(
      `update runtime.projectors set commit_position = 100, prepare_position = 100 where name = 'ticket_board'`,
    )
    const writes = listener()
    await new RetryingWriter(pool, silentLogger, writes, new AbortController().signal).fail(
      member,
      failureOf(event, 'any'),
    )
    expect(writes.lost).toHaveBeenCalledExactlyOnceWith(member)
    expect((await readCheckpoints(pool, ['ticket_board'])).get('ticket_board')?.status).toBe('rebuilding')
  })

  it('writes nothing under a version or with tables other than the serving ones', async () => {
    const [one, other] = [
      batchOf({ ...ticketBoard, version: 2 }),
      batchOf({
        ...ticketCounts,
        tables: ticketCounts.tables.map((table) => ({ ...table, indexes: [{ columns: ['ticket_id'] }] })),
      }),
    ]
    const writes = listener()
    await new RetryingWriter(pool, silentLogger, writes, new AbortController().signal).write([one, other])
    expect(writes.lost).toHaveBeenCalledTimes(2)
    expect(writes.written).not.toHaveBeenCalled()
  })
})
