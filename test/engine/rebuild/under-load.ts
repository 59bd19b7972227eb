import { expect } from 'vitest'
import { rebuild } from '../../../engine/rebuild/rebuild.ts'
import { pause } from '../../../platform/kit/backoff.ts'
import { eventually } from '../../support/eventually.ts'
import { opened, renamed, say, ticketBoard, ticketCounts } from '../projections/tickets.ts'
import type { RebuildWorld } from './rebuild-world.ts'

/** Appends and selects every few milliseconds until it is stopped. Returns the acknowledged events and every failed select. */
function startLoad(world: RebuildWorld, ticket: string) {
  const ending = new AbortController()
  const failures: unknown[] = []
  let appended = 0
  let selects = 0
  const writing = (async () => {
    while (!ending.signal.aborted) {
      await say(world.store, `ticket-${ticket}`, renamed(ticket, `title ${appended}`))
      appended += 1
      await pause(5)
    }
  })()
  const reading = Array.from({ length: 2 }, async () => {
    let seen = 0
    while (!ending.signal.aborted) {
      try {
        const { rows } = await world.pool.query<{ count: number }>(
          'select count(*)::int as count from ticket_counts.counts where ticket_id = $1',
          [ticket],
        )
        const count = rows[0]?.count ?? 0
        if (count < seen) throw new Error(`${count} rows after ${seen}`)
        seen = count
        selects += 1
      } catch (error) {
        failures.push(error)
      }
      await pause(2)
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

/** Rebuilds a read model again and again while it is written and read. No query fails, no row is lost. */
export async function rebuildUnderLoad(world: RebuildWorld, rounds: number): Promise<void> {
  const ticket = world.fresh()
  await say(world.store, `ticket-${ticket}`, opened(ticket))
  const runner = world.start([ticketBoard, ticketCounts])
  await runner.caughtUp()
  await eventually(() => expect(runner.status().map(({ state }) => state)).toEqual(['live', 'live']))
  const states = new Set<string>()
  const watch = setInterval(() => runner.status().forEach(({ state }) => states.add(state)), 1)
  const load = startLoad(world, ticket)
  const copies = new Set<string | undefined>()
  for (let round = 0; round < rounds; round += 1) {
    expect(await rebuild(world.context(), [ticketCounts])).toMatchObject([
      { kind: 'switched', status: 'running', comparison: { isEqual: true } },
    ])
    copies.add((await world.stored('ticket_counts'))?.copyId)
  }
  const { appended, selects } = await load.end()
  clearInterval(watch)
  expect(load.failures).toEqual([])
  expect(copies.size).toBe(rounds)
  expect([appended > 0, selects > 0]).toEqual([true, true])
  await eventually(async () => {
    const { rows } = await world.pool.query('select from ticket_counts.counts where ticket_id = $1', [ticket])
    expect(rows).toHaveLength(appended + 1)
  })
  expect((await world.titles(ticketBoard))[ticket]).toBe(`title ${appended - 1}`)
  // No instance went on standby.
  expect([...states]).toEqual(['live'])
  expect(await world.copies('ticket_counts')).toEqual(['ticket_counts__previous'])
}
