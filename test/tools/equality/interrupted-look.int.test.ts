import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { readModels } from '../../../projections/registry.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { caughtUpTo, startInstance } from '../../../tools/equality/instances.ts'
import { recordedLog } from '../../../tools/equality/story.ts'
import { storyOf } from '../../../tools/equality/histories.ts'
import { GrowingLog } from '../../../tools/equality/growing-log.ts'

let database: FreshDatabase
let pool: Pool

beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 1 })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

it(
  'a runner that is cut off at any statement of its start runs all projectors afterwards',
  { timeout: 240_000 },
  async () => {
    const log = new GrowingLog(recordedLog(storyOf([], '2d4a9a1c-4f3f-5c57-8f0e-0d5d8b7c6a10').appends), {
      batches: [10],
      repeated: [0],
      checkpointEvery: 0,
    })
    log.reach(2)
    const instance = await startInstance(database.url, readModels, { eventStore: log, filter: { streamPrefixes: [] } })
    try {
      await caughtUpTo(instance, log.newest, [])
      for (let statements = 0; statements < 30; statements += 1) {
        instance.proxy.cutAfter(statements, 'after', false)
        log.breakSubscriptions()
        await caughtUpTo(instance, log.newest, [])
      }
      expect(instance.runner.status().map(({ state }) => state)).toEqual(readModels.map(() => 'live'))
    } finally {
      await instance.close()
    }
  },
)
