import { createSecretKey, randomBytes } from 'node:crypto'
import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { partOf, writeBatch } from '../../../engine/projections/batch-writer.ts'
import { columnArrays } from '../../../engine/projections/column-arrays.ts'
import { defineOpeningProjector, defineProjector, defineTable, sealed } from '../../../engine/projections/projector.ts'
import { insertRow } from '../../../engine/projections/row-changes.ts'
import { ensureRuntimeSchema, prepareProjector } from '../../../engine/projections/schema.ts'
import { opened } from '../../../engine/reads/opened.ts'
import { rowsOf, tableOf, viewsOf } from '../../../engine/reads/tenant-rows.ts'
import type { RecordedEvent } from '../../../engine/store/events.ts'
import { startOfLog } from '../../../platform/kit/positions.ts'
import type { SubjectKey } from '../../../platform/kit/key-vault.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { freshEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import {
  MemoryKeys,
  newContext,
  opened as visitOpened,
  openTestStore,
  visitCategory,
  type VisitEvent,
} from '../store/fixtures.ts'

const { category, catalogue, fold, stream } = visitCategory()

const visitsTable = defineTable({
  name: 'visits',
  columns: { room: 'integer', patient_id: 'text', name: sealed(Type.String()) },
  primaryKey: ['room'],
})
const visits = defineProjector<VisitEvent>()({
  name: 'visits',
  version: 1,
  tables: [visitsTable],
  handlers: { VisitOpened: ({ data }) => [insertRow(visitsTable, data)] },
})
const v = tableOf(visits, visitsTable, 'v')

let node: TestEventStore
let database: FreshDatabase
let pool: Pool
const vault = new MemoryKeys()
let events: RecordedEvent[]

beforeAll(async () => {
  node = await freshEventStore()
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 2 })
  await ensureRuntimeSchema(pool)
  await inTransaction(pool, (client) => prepareProjector(client, visits))
  await using store = await openTestStore({ url: node.url, catalogue, vault })
  const before = await store.head({ streamPrefixes: [] })
  const names = [visitOpened('ada', 1, 'Ada-canary\0'), visitOpened('ada', 2, 'Ada-canary'), visitOpened('bob', 3)]
  await store.append({ fold, stream: stream() }, 'no_stream', names, newContext())
  const read = {
    filter: { streamPrefixes: [`${category}-`] },
    after: before,
    upTo: await store.head({ streamPrefixes: [] }),
  }
  events = []
  const reads = vault.reads
  for await (const batch of store.readLog({ ...read, wants: () => true, batchSize: 10 })) events.push(...batch.events)
  expect(vault.reads).toBe(reads)
  await writeBatch(pool, [partOf(visits, events, startOfLog, events.at(-1)?.position ?? startOfLog)])
})

afterAll(async () => {
  await pool.end()
  await database.drop()
  await node.stop()
})

/** The vault, with the number of its answers. */
function counted(keys: (orgId: string, subjectId: string) => Promise<SubjectKey>) {
  const asked: string[] = []
  return {
    asked,
    cachedSubjectKey: () => undefined,
    subjectKeyForReading: async (orgId: string, subjectId: string) => {
      asked.push(subjectId)
      return keys(orgId, subjectId)
    },
  }
}

const stored = () => viewsOf(pool, rowsOf(v).orderByRaw('??', [v.room]))

describe('a sealed column', () => {
  it('holds what the event holds, and nothing readable', async () => {
    const { rows } = await pool.query<{ name: Buffer | null }>('select name from visits.visits order by room')
    expect(rows.map(({ name }) => name?.includes('canary') ?? null)).toEqual([false, false, null])
  })

  it('is opened with one question about each person, and keeps every character', async () => {
    const keys = counted((orgId, subjectId) => vault.subjectKeyForReading(orgId, subjectId))
    const views = await opened(keys, await stored())
    expect(views.map(({ name }) => name)).toEqual(['Ada-canary\0', 'Ada-canary', null])
    expect(keys.asked).toEqual(['ada'])
  })

  it('reads as null after the key is destroyed', async () => {
    const views = await opened(
      counted(async () => 'destroyed'),
      await stored(),
    )
    expect(views.map(({ room, name }) => [room, name])).toEqual([
      [1, null],
      [2, null],
      [3, null],
    ])
  })

  it('does not open with the key of somebody else', async () => {
    const other = createSecretKey(randomBytes(32))
    await expect(
      opened(
        counted(async () => other),
        await stored(),
      ),
    ).rejects.toThrow('authenticate')
  })

  it('takes nothing but a sealed member, and no other column takes one', () => {
    const [row] = events.map(({ data }) => Object(data) as Record<string, unknown>)
    expect(() => columnArrays([['name', 'bytea']], [{ name: 'Ada' }])).toThrow('a value that is not sealed')
    expect(() => columnArrays([['name', 'text']], [{ name: row?.['name'] }])).toThrow('written as JSON')
    expect(() => columnArrays([['name', 'jsonb']], [{ name: { of: row?.['name'] } }])).toThrow('written as JSON')
  })

  it('gets what an opening projector does not', async () => {
    const seen: unknown[] = []
    const handlers = {
      VisitOpened: ({ data }: { readonly data: { readonly name?: unknown } }) => {
        seen.push(data.name)
        return []
      },
    }
    const definition = { name: 'names', version: 1, tables: [], handlers }
    await using store = await openTestStore({ url: node.url, catalogue, vault })
    const [written] = events
    const whole: RecordedEvent[] = []
    for await (const event of store.readStream(written?.stream ?? '', { limit: 1 })) whole.push(event)
    partOf(defineOpeningProjector<VisitEvent>()(definition), whole, startOfLog, startOfLog)
    partOf(defineProjector<VisitEvent>()(definition), whole, startOfLog, startOfLog)
    expect(seen).toEqual(['Ada-canary\0', expect.objectContaining({ subjectId: 'ada' })])
  })
})
