import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Pool } from '../../../platform/database/database.ts'
import { CheckpointLostError, partOf, writeBatch } from '../../../engine/projections/batch-writer.ts'
import { readCheckpoints } from '../../../engine/projections/checkpoints.ts'
import { requestResume } from '../../../engine/rebuild/resume.ts'
import type { Projector } from '../../../engine/projections/projector.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { ensureRuntimeSchema, prepareProjector } from '../../../engine/projections/schema.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import type { LogRead } from '../../../engine/store/log-reading.ts'
import type { AllSubscription, EventFilter } from '../../../engine/store/subscription-options.ts'
import { readRows, recorded } from '../../support/given-projector.ts'
import { emptyDatabase, filter, opened, renamed, say, silentLogger, ticketBoard, ticketCounts } from './tickets.ts'
import { openTicketWorld, type TicketWorld } from './ticket-world.ts'
import { eventually } from '../../support/eventually.ts'

let world: TicketWorld
let store: EventStore
let pool: Pool
const runners: ProjectionRunner[] = []

beforeAll(async () => {
  world = await openTicketWorld({ connections: 8 })
  ;({ store, pool } = world)
})
afterAll(() => world.close())
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.close()))
  await emptyDatabase(pool)
})

function start(
  projectors: readonly Projector[],
  eventStore: Pick<EventStore, 'subscribeToAll' | 'readLog' | 'head'> = store,
): ProjectionRunner {
  const runner = new ProjectionRunner({ eventStore, pool, projectors, filter, logger: silentLogger, heartbeatMs: 50 })
  runners.push(runner)
  runner.start()
  return runner
}

async function rowsOf(projector: Projector): Promise<number> {
  return (await readRows(pool, projector))['counts']?.length ?? 0
}

/** Ticket counts under another name, so several projectors lag differently. */
function counter(name: string): Projector {
  return { ...ticketCounts, name }
}

describe('a checkpoint', () => {
  it('moves only from where its writer left it, together with the rows', async () => {
    await ensureRuntimeSchema(pool)
    const { position } = await inTransaction(pool, (client) => prepareProjector(client, ticketCounts))
    const events = recorded([opened('t1'), renamed('t1', 'a')])
    const to = events[1]?.position ?? position
    await writeBatch(pool, [partOf(ticketCounts, events, position, to)])
    await expect(writeBatch(pool, [partOf(ticketCounts, recorded([opened('t9')]), position, to)])).rejects.toThrow(
      CheckpointLostError,
    )
    const older = { ...ticketCounts, version: 0 }
    await expect(writeBatch(pool, [partOf(older, [], to, { commit: 999n, prepare: 999n })])).rejects.toThrow(
      CheckpointLostError,
    )
    expect(await rowsOf(ticketCounts)).toBe(2)
  })

  it('that another instance moved puts the runner on standby; it continues from the stored position', async () => {
    const runner = start([counter('moved')])
    await runner.caughtUp()
    await pool.query(`update runtime.projectors set commit_position = 0, prepare_position = 0 where name = 'moved'`)
    await pool.query('truncate moved.counts')
    await say(store, 'ticket-m', opened('m'))
    await eventually(async () => {
      const { rows } = await pool.query('select from moved.counts')
      const all = await countTouches()
      expect(rows).toHaveLength(all)
      expect(runner.status()[0]?.state).toBe('live')
    })
  })
})

async function countTouches(): Promise<number> {
  let count = 0
  for (const stream of ['ticket-m', 'ticket-a', 'ticket-b']) {
    for await (const { type } of store.readStream(stream))
      if (type === 'TicketOpened' || type === 'TicketRenamed') count += 1
  }
  return count
}

describe('projectors that lag', () => {
  it('catch up by themselves under load and join the live read, each event once', async () => {
    const early = counter('early')
    const first = start([early])
    await first.caughtUp()
    await say(store, 'ticket-a', opened('a'))
    await eventually(async () => expect(await rowsOf(early)).toBe(await countTouches()))
    await first.close()
    await say(store, 'ticket-a', ...Array.from({ length: 300 }, (_, index) => renamed('a', `while away ${index}`)))

    const subscriptions: AllSubscription[] = []
    const counting = {
      readLog: (read: LogRead) => store.readLog(read),
      head: (of: EventFilter) => store.head(of),
      subscribeToAll: (options: AllSubscription) => {
        subscriptions.push(options)
        return store.subscribeToAll(options)
      },
    }
    const unloading = new AbortController()
    const load = (async () => {
      for (let index = 0; !unloading.signal.aborted; index += 1)
        await say(store, 'ticket-b', index === 0 ? opened('b') : renamed('b', `${index}`))
    })()
    const runner = start([early, counter('late'), counter('later')], counting)
    await runner.caughtUp()
    await eventually(() => expect(runner.status().every(({ state }) => state === 'live')).toBe(true))
    unloading.abort()
    await load
    const total = await countTouches()
    for (const name of ['early', 'late', 'later']) {
      await eventually(async () => expect(await rowsOf(counter(name))).toBe(total))
    }
    // Two groups have their own reads; later one read remains.
    expect(subscriptions).toHaveLength(2)
    expect(subscriptions.filter(({ signal }) => !signal.aborted)).toHaveLength(1)
  })

  it('are separate: a failed one does not delay a new one', async () => {
    const runner = start([{ ...ticketBoard, name: 'board' }, counter('beside')])
    await runner.caughtUp()
    await say(store, 'ticket-x', renamed('x', 'never opened'))
    await eventually(() => expect(runner.status()[0]?.state).toBe('failed'))
    expect(runner.isCaughtUp()).toBe(true)
    expect(await requestResume(pool, 'board')).toBeDefined()
    const status = async (name: string) => (await readCheckpoints(pool, [name])).get(name)?.status
    await eventually(async () => expect(await status('board')).toBe('failed'))
    expect(await status('beside')).toBe('running')
  })
})
