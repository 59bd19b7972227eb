import { createPool, type Pool } from '../../../platform/database/database.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { freshEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { openTicketStore } from './tickets.ts'

/** A node, its store and a database for one test file. */
export interface TicketWorld {
  readonly node: TestEventStore
  readonly store: EventStore
  readonly database: FreshDatabase
  readonly pool: Pool
  close(): Promise<void>
}

export async function openTicketWorld({ connections }: { readonly connections: number }): Promise<TicketWorld> {
  const node = await freshEventStore()
  const store = await openTicketStore(node.url)
  const database = await freshDatabase()
  const pool = createPool({ url: database.url, max: connections })
  return {
    node,
    store,
    database,
    pool,
    close: async () => {
      await store.close()
      await node.stop()
      await pool.end()
      await database.drop()
    },
  }
}
