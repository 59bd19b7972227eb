import { afterAll, beforeAll, expect, it } from 'vitest'
import { InstanceIdentity } from '../../../platform/database/instance-identity.ts'
import { AdvisoryLocks } from '../../../platform/database/advisory-locks.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { pause } from '../../../platform/kit/backoff.ts'
import { eventually } from '../../support/eventually.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

let database: FreshDatabase
let pool: Pool
beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 4 })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

it('an instance that loses its connection while it waits for its lock does not lock itself out', async () => {
  const earlier = await AdvisoryLocks.open(pool, () => undefined)
  await earlier.tryAcquire('instance clinic')
  const own = createPool({ url: database.url, max: 4 })
  const connect = own.connect.bind(own)
  const gate = Promise.withResolvers<void>()
  let opened = 0
  // The first connection breaks after its first statement. Then the database is away for longer than the pause between
  // two tries.
  Object.assign(own, {
    connect: async () => {
      opened += 1
      if (opened > 1) await gate.promise
      const client = await connect()
      if (opened > 1) return client
      const query: (statement: string) => Promise<unknown> = client.query.bind(client)
      return Object.assign(client, {
        query: async (statement: string) => {
          const answer = await query(statement)
          setImmediate(() => client.emit('error', new Error('the connection broke')))
          return answer
        },
      })
    },
  })
  const identity = new InstanceIdentity('clinic', own, new AbortController().signal)
  const taking = identity.take()
  await eventually(() => expect(opened).toBeGreaterThan(1))
  await pause(600)
  await earlier.close()
  gate.resolve()
  expect(await taking).toBe(true)
  await identity.close()
  await own.end()
})
