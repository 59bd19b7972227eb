import { describe, expect, it } from 'vitest'
import { drop, rollback } from '../../../engine/rebuild/rollback.ts'
import { rebuild } from '../../../engine/rebuild/rebuild.ts'
import { RebuildRefusedError } from '../../../engine/rebuild/context.ts'
import { OperatorLocks } from '../../../engine/rebuild/operator-locks.ts'
import { verify } from '../../../engine/rebuild/rebuild.ts'
import { ReadPositions } from '../../../engine/projections/read-positions.ts'
import { comparePositions } from '../../../platform/kit/positions.ts'
import { opened, renamed, say, ticketBoard, ticketCounts } from '../projections/tickets.ts'
import { eventually } from '../../support/eventually.ts'
import { RebuildWorld } from './rebuild-world.ts'

const world = RebuildWorld.ofThisFile()

async function refusal(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  return error instanceof RebuildRefusedError ? error.reason : String(error)
}

describe('a rollback', () => {
  it('fills the previous copy to the position of the serving one and puts it back, while the runner continues', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket, 'before'))
    const runner = world.start([ticketBoard])
    await runner.caughtUp()
    await rebuild(world.context(), [ticketBoard])
    const positions = new ReadPositions({ pool: world.pool, projectors: [ticketBoard], runner })
    const { position } = await say(world.store, `ticket-${ticket}`, renamed(ticket, 'since the rebuild'))
    expect(await positions.waitFor(position, ['ticket_board'], 10_000)).toEqual({ caughtUp: true })
    const served = await world.stored('ticket_board')
    expect(await rollback(world.context(), ticketBoard)).toMatchObject({ kind: 'switched', status: 'running' })
    // The copy that was put back contains everything that a reader saw before.
    expect(await positions.waitFor(position, ['ticket_board'], 10_000)).toEqual({ caughtUp: true })
    expect((await world.titles(ticketBoard))[ticket]).toBe('since the rebuild')
    const put = await world.stored('ticket_board')
    expect(put?.copyId).not.toBe(served?.copyId)
    expect(comparePositions(put?.position ?? { commit: 0n, prepare: 0n }, position)).toBeGreaterThanOrEqual(0)
    await say(world.store, `ticket-${ticket}`, renamed(ticket, 'after the rollback'))
    await eventually(async () => expect((await world.titles(ticketBoard))[ticket]).toBe('after the rollback'))
    expect(await verify(world.context(), [ticketBoard])).toMatchObject([{ kind: 'equal' }])
    positions.close()
  })

  it('reverses the rollback before it', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket, 'as it was'))
    await world.filled([ticketBoard])
    const served = new Set([(await world.stored('ticket_board'))?.copyId])
    await world.pool.query(`update ticket_board.tickets set title = 'first'`)
    await rebuild(world.context(), [ticketBoard], { acceptDifference: true })
    served.add((await world.stored('ticket_board'))?.copyId)
    expect((await world.titles(ticketBoard))[ticket]).toBe('as it was')
    await rollback(world.context(), ticketBoard)
    served.add((await world.stored('ticket_board'))?.copyId)
    expect((await world.titles(ticketBoard))[ticket]).toBe('first')
    await rollback(world.context(), ticketBoard)
    served.add((await world.stored('ticket_board'))?.copyId)
    expect((await world.titles(ticketBoard))[ticket]).toBe('as it was')
    // A writer that missed both rollbacks takes neither copy for the one of its last write.
    expect(served.size).toBe(4)
    expect(await world.copies('ticket_board')).toEqual(['ticket_board__previous'])
  })

  it('replaces a failed serving copy, at no earlier position', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([ticketBoard])
    await rebuild(world.context(), [ticketBoard])
    // The rebuilt copy is damaged, so it cannot process the next event.
    await world.pool.query('delete from ticket_board.tickets where ticket_id = $1', [ticket])
    const runner = world.start([ticketBoard])
    await runner.caughtUp()
    await say(world.store, `ticket-${ticket}`, renamed(ticket, 'taken'))
    await eventually(() => expect(runner.status()[0]?.state).toBe('failed'))
    expect(await rollback(world.context(), ticketBoard)).toMatchObject({ kind: 'switched', status: 'rebuilding' })
    await eventually(async () => expect((await world.titles(ticketBoard))[ticket]).toBe('taken'))
    await eventually(() => expect(runner.status()[0]?.state).toBe('live'))
  })

  it('reports the event that the previous copy cannot process, and changes nothing', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    const runner = world.start([ticketBoard])
    await runner.caughtUp()
    await rebuild(world.context(), [ticketBoard])
    await world.pool.query('delete from ticket_board__previous.tickets where ticket_id = $1', [ticket])
    await say(world.store, `ticket-${ticket}`, renamed(ticket, 'kept'))
    await eventually(async () => expect((await world.titles(ticketBoard))[ticket]).toBe('kept'))
    const before = await world.stored('ticket_board')
    expect(await rollback(world.context(), ticketBoard)).toMatchObject({
      kind: 'failed',
      failure: { eventType: 'TicketRenamed' },
    })
    expect((await world.stored('ticket_board'))?.copyId).toBe(before?.copyId)
    expect((await world.titles(ticketBoard))[ticket]).toBe('kept')
  })

  it('is refused without a previous copy, and across versions before anything is filled', async () => {
    await world.filled([ticketBoard])
    expect(await refusal(rollback(world.context(), ticketBoard))).toBe('nothing-to-roll-back-to')
    const next = { ...ticketBoard, version: 2 }
    expect(await rebuild(world.context(), [next])).toMatchObject([{ kind: 'switched' }])
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    await world.filled([next])
    const previous = await world.stored('ticket_board__previous')
    for (const program of [next, ticketBoard]) {
      expect(await refusal(rollback(world.context(), program))).toBe('other-version')
      await expect(rollback(world.context(), program)).rejects.toThrow(
        'A version cannot be rolled back: deploy a program with a higher version',
      )
    }
    expect(await world.stored('ticket_board__previous')).toMatchObject({
      position: previous?.position,
      copyId: previous?.copyId,
    })
  })

  it('works until the previous copy is dropped', async () => {
    await world.filled([ticketBoard, ticketCounts])
    await rebuild(world.context(), [ticketBoard, ticketCounts])
    expect(await drop(world.pool, 'ticket_board')).toEqual(['ticket_board__previous'])
    expect(await drop(world.pool, 'ticket_board')).toEqual([])
    expect(await world.copies('ticket_board')).toEqual([])
    expect(await refusal(rollback(world.context(), ticketBoard))).toBe('nothing-to-roll-back-to')
    expect(await rollback(world.context(), ticketCounts)).toMatchObject({ kind: 'switched' })
  })

  it('and a drop wait for a running rebuild', async () => {
    await world.filled([ticketBoard])
    await rebuild(world.context(), [ticketBoard])
    const locks = await OperatorLocks.open({ pool: world.pool })
    await locks.take('ticket_board')
    expect(await refusal(rollback(world.context(), ticketBoard))).toBe('under-way')
    expect(await refusal(drop(world.pool, 'ticket_board'))).toBe('under-way')
    expect(await verify(world.context(), [ticketBoard])).toMatchObject([{ kind: 'refused', reason: 'under-way' }])
    await locks.close()
    expect(await rollback(world.context(), ticketBoard)).toMatchObject({ kind: 'switched' })
  })
})
