import { describe, expect, it } from 'vitest'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { createPool } from '../../../platform/database/database.ts'
import { embeddedEventStore } from 'embedded-eventstore/testing'
import { eventually } from '../../support/eventually.ts'
import { readRows } from '../../support/given-projector.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { filter, opened, openTicketStore, renamed, say, silentLogger, ticketBoard, ticketCounts } from './tickets.ts'

describe('a runner on a node that is killed', () => {
  it('loses no event and processes none twice', async () => {
    const database = await freshDatabase()
    const pool = createPool({ url: database.url, max: 6 })
    const own = await embeddedEventStore()
    const store = await openTicketStore(own.url)
    const runner = new ProjectionRunner({
      eventStore: store,
      pool,
      projectors: [ticketBoard, ticketCounts],
      filter,
      logger: silentLogger,
      heartbeatMs: 50,
    })
    try {
      runner.start()
      await say(store, 'ticket-1', opened('1'))
      await runner.caughtUp()
      for (let round = 0; round < 3; round += 1) {
        await say(store, 'ticket-1', renamed('1', `round ${round}`))
        await own.restart()
      }
      await eventually(async () => {
        const { tickets = [] } = await readRows(pool, ticketBoard)
        expect(tickets).toMatchObject([{ ticket_id: '1', title: 'round 2' }])
      })
      expect((await readRows(pool, ticketCounts))['counts']).toHaveLength(4)
    } finally {
      await runner.close()
      await store.close()
      await own.stop()
      await pool.end()
      await database.drop()
    }
  })
})
