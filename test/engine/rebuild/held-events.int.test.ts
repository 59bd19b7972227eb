import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { copyNames, emptyCopy } from '../../../engine/rebuild/copies.ts'
import { fill } from '../../../engine/rebuild/fill.ts'
import { defineProjector, type Projector } from '../../../engine/projections/projector.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { filter, opened, renamed, say, ticketCounts, type TicketEvent } from '../projections/tickets.ts'
import { RebuildWorld } from './rebuild-world.ts'

const world = RebuildWorld.ofThisFile()

const batchSize = 50
const batches = 12

/** The counts of tickets, with a weak reference to every event that their handlers got. */
function watched(events: WeakRef<object>[]): Projector {
  const { TicketOpened, TicketRenamed } = ticketCounts.handlers
  const watch = (event: object): void => void events.push(new WeakRef(event))
  return defineProjector<TicketEvent>()({
    ...ticketCounts,
    handlers: {
      TicketOpened: (event) => {
        watch(event)
        return TicketOpened?.(event) ?? []
      },
      TicketRenamed: (event) => {
        watch(event)
        return TicketRenamed?.(event) ?? []
      },
    },
  })
}

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

function heldOf(events: readonly WeakRef<object>[]): number {
  collectGarbage()
  return events.filter((event) => event.deref() !== undefined).length
}

it('a fill keeps the events of a few batches in memory, however long the log is', async () => {
  const ticket = world.fresh()
  await say(world.store, `ticket-${ticket}`, opened(ticket))
  for (let batch = 0; batch < batches; batch += 1) {
    const titles = Array.from({ length: batchSize }, (_, number) => renamed(ticket, `${batch} ${number}`))
    await say(world.store, `ticket-${ticket}`, ...titles)
  }
  const seen: WeakRef<object>[] = []
  const held: number[] = []
  const context = world.context({ batchSize, onProgress: () => void held.push(heldOf(seen)) })
  await ensureRuntimeSchema(world.pool)
  const copy = await emptyCopy(context, watched(seen), copyNames(ticketCounts.name).next)
  await fill(context, [{ copy, upTo: await world.store.head(filter) }])

  expect(copy.failure).toBeUndefined()
  expect(seen).toHaveLength(1 + batches * batchSize)
  // One batch is written, one is folded, and a promise may hold one in between.
  expect(Math.max(...held)).toBeLessThanOrEqual(3 * batchSize)
  // A weak reference that was read keeps its target until the end of the turn.
  await nextTurn()
  expect(heldOf(seen)).toBe(0)
})
