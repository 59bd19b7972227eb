import { describe, expect, it } from 'vitest'
import { filterOf, type Projector } from '../../../engine/projections/projector.ts'
import { createReadPositions } from '../../../engine/projections/read-positions.ts'
import { rebuild } from '../../../engine/rebuild/rebuild.ts'
import { readRows } from '../../support/given-projector.ts'
import { opened, renamed, say, ticketBoard, ticketCounts } from '../projections/tickets.ts'
import { eventually, RebuildWorld } from './rebuild-world.ts'

const world = RebuildWorld.ofThisFile()
/** The streams of all others have no tickets. */
const filter = { streamPrefixes: ['noise-'] }
const apart: Projector = { ...ticketCounts, apart: ['ticket-'] }

const countsOf = async (ticket: string) =>
  ((await readRows(world.pool, apart))['counts'] ?? []).filter((row) => row['ticket_id'] === ticket).length

describe('a projector with a read of its own', () => {
  it('gets its events, which the others do not get', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    const runner = world.start([ticketBoard, apart], { filter })
    await runner.caughtUp()
    expect(await countsOf(ticket)).toBe(1)
    await say(world.store, `ticket-${ticket}`, renamed(ticket, 'later'))
    await eventually(async () => expect(await countsOf(ticket)).toBe(2))
    expect(await world.titles(ticketBoard)).toEqual({})
    await eventually(async () => expect(await world.stored('ticket_counts')).toMatchObject({ status: 'running' }))
  })

  it('is rebuilt, also together with others, while it runs', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    const runner = world.start([ticketBoard, apart], { filter })
    await runner.caughtUp()
    const outcomes = await rebuild(world.context({ filter }), [ticketBoard, apart])
    expect(outcomes).toMatchObject([
      { kind: 'switched', comparison: { isEqual: true } },
      { kind: 'switched', comparison: { isEqual: true } },
    ])
    await say(world.store, `ticket-${ticket}`, renamed(ticket, 'later'))
    await eventually(async () => expect(await countsOf(ticket)).toBe(2))
  })

  it('is filled anew in a newer version', async () => {
    const ticket = world.fresh()
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    const older = world.start([apart], { filter })
    await older.caughtUp()
    await older.close()
    await say(world.store, `ticket-${ticket}`, renamed(ticket, 'meanwhile'))
    const newer = world.start([{ ...apart, version: 2 }], { filter })
    await newer.caughtUp()
    await eventually(async () => expect(await world.stored('ticket_counts')).toMatchObject({ version: 2 }))
    await eventually(async () => expect(await countsOf(ticket)).toBe(2))
  })

  it('contains everything up to its own newest event', async () => {
    const ticket = world.fresh()
    const runner = world.start([apart], { filter })
    await runner.caughtUp()
    const reads = createReadPositions({ pool: world.pool, projectors: [apart] })
    await say(world.store, `ticket-${ticket}`, opened(ticket))
    const isCurrent = await reads.requireHead(
      (asked, projector) => world.store.head(filterOf(projector, filter), asked),
      'ticket_counts',
      10_000,
    )
    expect([isCurrent, await countsOf(ticket)]).toEqual([true, 1])
    reads.close()
  })
})
