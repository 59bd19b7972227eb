import { afterAll, beforeAll, expect, it } from 'vitest'
import { figuresOf, showFigures } from '../../../app/operations/figures.ts'
import { readSeen } from '../../../app/operations/operations.ts'
import type { Seen } from '../../../app/operations/overview.ts'
import { createProjector, ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { appTables } from '../../../app/runtime-tables.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { createHealth } from '../../../platform/observability/health.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { createMetrics } from '../../../platform/observability/metrics.ts'
import { assessmentsProcess } from '../../../processes/assessments/assessments.process.ts'
import { linesOf } from '../../platform/observability/figures.ts'
import { seenWell, seenWithProblems } from './seen.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { eventually } from '../../support/eventually.ts'

let database: FreshDatabase
let pool: Pool
beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 2 })
  await ensureRuntimeSchema(pool, appTables)
  await inTransaction(pool, (client) => createProjector(client, assessmentsProcess.list, 'running'))
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

it('the figures of work are those of the last count', async () => {
  const add = (key: string, seconds: number) =>
    pool.query(
      `insert into assessments_todo.todo (key, step, org_id, due_at, payload) values ($1, 'expire', null, now() - make_interval(secs => $2), '{}')`,
      [key, seconds],
    )
  await add('a', 100)
  await add('b', 50)
  await add('c', -50)
  const metrics = createMetrics({ health: createHealth({ profile: 'development' }) })
  const logger = createLogger({ level: 'silent' })
  const away = () => Promise.reject(new Error('the event store is away'))
  const read = () => readSeen({ pool, failedRetentionSeconds: 3_600, store: away, now: () => new Date() })
  const figures = showFigures({ read, metrics, showsSteps: true, logger, everyMs: 20 })
  await figures.first
  await eventually(async () => {
    const text = await metrics.text()
    expect(linesOf(text, 'step_count')).toEqual([
      'step_count{process="assessments",step="expire",state="due"} 2',
      'step_count{process="assessments",step="expire",state="waiting"} 1',
    ])
    const [due = '', waiting = ''] = linesOf(text, 'step_oldest_seconds')
    expect(Number(due.split(' ').at(-1))).toBeGreaterThanOrEqual(99)
    expect(waiting).toBe('step_oldest_seconds{process="assessments",step="expire",state="waiting"} 0')
    expect(linesOf(text, 'operations_status')).toContain('operations_status{state="failing"} 1')
    expect(linesOf(text, 'operations_problems')).toContain(
      'operations_problems{code="role-missing",severity="failing",subject="api"} 1',
    )
  })
  await figures.close()
})

it('the figures join what fails in different ways, and leave out what the program does not have', () => {
  const at = new Date('2030-01-01T00:01:00.000Z')
  const counted = { kind: 'step', process: 'assessments', step: 'expire', state: 'failing', failure: null } as const
  const counts = [
    { ...counted, count: 2, oldestDueAt: new Date('2030-01-01T00:00:50.000Z') },
    { ...counted, count: 3, oldestDueAt: new Date('2030-01-01T00:00:30.000Z') },
    { ...counted, step: 'a name', count: 1, oldestDueAt: at },
  ]
  const labels = { process: 'assessments', step: 'expire', state: 'failing' }
  expect(figuresOf({ ...seenWell, at, work: counts }).steps).toEqual([{ labels, count: 5, oldestSeconds: 30 }])
})

it('a problem is a figure under its name, without ids, and none is old', async () => {
  const clock = { ms: 0 }
  const metrics = createMetrics({ health: createHealth({ profile: 'development' }), now: () => clock.ms })
  const logger = createLogger({ level: 'silent' })
  let read = async (): Promise<Seen> => seenWithProblems
  const figures = showFigures({ read: () => read(), metrics, showsSteps: false, logger, everyMs: 1 })
  await figures.first
  const lines = async (name: string) => {
    clock.ms += 60_000
    return linesOf(await metrics.text(), name)
  }
  const problem = (code: string, severity: string, subject: string | undefined, count = 1) =>
    `operations_problems{code="${code}",severity="${severity}"${subject === undefined ? '' : `,subject="${subject}"`}} ${count}`
  expect((await lines('operations_problems')).toSorted()).toEqual(
    [
      problem('calls-held', 'warning', 'calls'),
      problem('check-failing', 'warning', 'database'),
      problem('endpoint-disabled', 'warning', undefined),
      problem('process-silent', 'warning', undefined, 2),
      problem('projection-behind', 'warning', 'cases'),
      problem('projection-failed', 'failing', 'patients'),
      problem('relay-blocked', 'failing', 'consent.events'),
      problem('role-missing', 'failing', 'processor'),
      problem('seal-late', 'warning', 'log'),
      problem('system-failing', 'failing', 'mail'),
      problem('work-failing', 'warning', undefined),
      problem('work-late', 'warning', 'assessments.expire'),
      problem('work-late', 'warning', undefined),
    ].toSorted(),
  )
  expect(await lines('operations_status')).toEqual([
    'operations_status{state="ok"} 0',
    'operations_status{state="warning"} 0',
    'operations_status{state="failing"} 1',
  ])
  expect(await lines('seal_lag_seconds')).toEqual(['seal_lag_seconds 700'])
  expect(await lines('step_count')).toEqual([])
  read = async () => seenWell
  await eventually(async () => expect(await lines('operations_problems')).toEqual([]))
  expect(await lines('operations_status')).toContain('operations_status{state="ok"} 1')
  read = () => Promise.reject(new Error('the database is away'))
  await eventually(async () => expect(await lines('operations_status')).toEqual([]))
  await figures.close()
})
