import { randomUUID } from 'node:crypto'
import { hostedEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { requestOperation } from '../../../app/operations/projection-operations.ts'
import { workOnProjections } from '../../../app/operations/projection-worker.ts'
import { createProjector, ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { appTables } from '../../../app/runtime-tables.ts'
import { openEventStore, type EventStore } from '../../../engine/store/event-store.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { patientsProjector } from '../../../projections/clinical/patients.projector.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { fixedKeys } from '../../golden-events/golden-file.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { eventually } from '../../support/eventually.ts'

let database: FreshDatabase
let pool: Pool
let node: TestEventStore
let store: EventStore
const logger = createLogger({ level: 'silent' })
beforeAll(async () => {
  ;[database, node] = await Promise.all([freshDatabase(), hostedEventStore()])
  pool = createPool({ url: database.url, max: 2 })
  store = await openEventStore({ url: node.url, catalogue, vault: fixedKeys })
  await ensureRuntimeSchema(pool, appTables)
  await inTransaction(pool, (client) => createProjector(client, patientsProjector, 'running'))
})
afterAll(async () => {
  await store.close()
  await pool.end()
  await Promise.all([database.drop(), node.stop()])
})

const states = async () =>
  (await pool.query('select status, detail from runtime.projection_operations order by requested_at')).rows

it('an operation waits for a database that is away, and is carried out once it is there', async () => {
  await pool.query(
    `insert into runtime.projection_operations (id, projector, verb, accepts_difference, actor_kind, requested_at, status)
     values ($1, 'patients', 'rollback', false, 'client', now(), 'requested')`,
    [randomUUID()],
  )
  const away = { pool, store, logger, databaseUrl: 'postgres://nobody@127.0.0.1:1/none', everyMs: 10 }
  const waiting = workOnProjections(away)
  await waiting.first
  await waiting.close()
  expect(await states()).toEqual([{ status: 'requested', detail: null }])
  const working = workOnProjections({ ...away, databaseUrl: database.url })
  const refused = { status: 'failed', detail: 'nothing-to-roll-back-to' }
  await eventually(async () => expect(await states()).toEqual([refused]))
  await working.close()
})

it('a rollback whose process is killed after the switch is not reversed by the process that takes it over', async () => {
  const id = randomUUID()
  const put = await inTransaction(pool, (client) =>
    createProjector(client, { ...patientsProjector, name: 'patients__previous' }, 'stopped'),
  )
  const served = async () => {
    const { rows } = await pool.query<{ copy_id: string }>(
      `select copy_id from runtime.projectors where name = 'patients'`,
    )
    return rows[0]?.copy_id
  }
  const ended = () =>
    eventually(async () => {
      const { rows } = await pool.query('select status from runtime.projection_operations where id = $1', [id])
      expect(rows).toEqual([{ status: 'done' }])
    })
  await pool.query(
    `insert into runtime.projection_operations (id, projector, verb, accepts_difference, actor_kind, requested_at, status)
     values ($1, 'patients', 'rollback', false, 'client', now(), 'requested')`,
    [id],
  )
  const working = workOnProjections({ pool, store, logger, databaseUrl: database.url, everyMs: 10 })
  await ended()
  expect(await served()).toBe(put)
  await pool.query(
    `update runtime.projection_operations set status = 'running', seen_at = now() - interval '1 minute', ended_at = null where id = $1`,
    [id],
  )
  await ended()
  expect(await served()).toBe(put)
  await working.close()
})

it('no skip is accepted for an event at which only the previous copy stands', async () => {
  await pool.query(
    `update runtime.projectors set status = 'failed', failed_event_id = gen_random_uuid(), failed_event_type = 'PatientRegistered',
       failed_category = 'patient', failed_commit = 7, failed_prepare = 7, failed_reason = 'planted' where name = 'patients__previous'`,
  )
  const id = randomUUID()
  const context = { commandId: id, correlationId: id, clientId: 'test' }
  const projection = { verb: 'skip', acceptsDifference: false, position: '7/7' } as const
  const order = {
    id,
    projector: 'patients',
    projection,
    reason: 'tried',
    actor: { kind: 'client', id: null },
    context,
  } as const
  await expect(requestOperation({ pool, store, now: () => new Date() }, order)).rejects.toMatchObject({
    code: 'projection-not-there',
  })
})
