import { freshEventStore } from 'embedded-eventstore/testing'
import { expect, it } from 'vitest'
import { createPool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { defineOpeningProjector, defineTable } from '../../../engine/projections/projector.ts'
import { insertRow } from '../../../engine/projections/row-changes.ts'
import { ensureRuntimeSchema, prepareProjector } from '../../../engine/projections/schema.ts'
import { emptyCopy } from '../../../engine/rebuild/copies.ts'
import { switchOver } from '../../../engine/rebuild/switch.ts'
import { readRows } from '../../support/given-projector.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { silentLogger } from '../projections/tickets.ts'
import { newContext, opened, openTestStore, visitCategory, type VisitEvent } from '../store/fixtures.ts'

const { category, catalogue, fold, stream } = visitCategory()
const visitsTable = defineTable({
  name: 'visits',
  columns: { room: 'integer', name_length: { type: 'integer', nullable: true } },
  primaryKey: ['room'],
})
const visits = defineOpeningProjector<VisitEvent>()({
  name: 'visits',
  version: 1,
  tables: [visitsTable],
  handlers: {
    VisitOpened: ({ data }) => [insertRow(visitsTable, { room: data.room, nameLength: data.name?.length ?? null })],
  },
})

it('a switch gives an opening projector the content of the events that it writes', async () => {
  const [node, database] = [await freshEventStore(), await freshDatabase()]
  const pool = createPool({ url: database.url, max: 6 })
  const filter = { streamPrefixes: [`${category}-`] }
  try {
    await using store = await openTestStore({ url: node.url, catalogue })
    await ensureRuntimeSchema(pool)
    await inTransaction(pool, (client) => prepareProjector(client, visits))
    const context = { eventStore: store, pool, filter, logger: silentLogger }
    const copy = await emptyCopy(context, visits, 'visits__next')
    // The writer of the serving copy takes an event after the fill.
    const skips = async (): Promise<ReadonlySet<string>> => {
      const { position } = await store.append(
        { fold, stream: stream() },
        'no_stream',
        [opened('ada', 1, 'Ada')],
        newContext(),
      )
      await pool.query(
        `update runtime.projectors set commit_position = $1, prepare_position = $2 where name = 'visits'`,
        [position.commit.toString(), position.prepare.toString()],
      )
      return new Set()
    }
    await switchOver({ ...context, skips }, copy)
    expect(await readRows(pool, visits)).toEqual({ visits: [{ room: 1, name_length: 3 }] })
  } finally {
    await pool.end()
    await database.drop()
    await node.stop()
  }
})
