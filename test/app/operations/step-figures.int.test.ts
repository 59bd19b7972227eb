import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { countSteps, figuresOf } from '../../../app/operations/step-figures.ts'
import { createProjector, ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { inTransaction } from '../../../platform/database/transaction.ts'
import { createHealth } from '../../../platform/observability/health.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import { createMetrics } from '../../../platform/observability/metrics.ts'
import { assessmentsProcess } from '../../../processes/assessments/assessments.process.ts'
import { linesOf } from '../../platform/observability/figures.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'

let database: FreshDatabase
let pool: Pool
beforeAll(async () => {
  database = await freshDatabase()
  pool = createPool({ url: database.url, max: 2 })
  await ensureRuntimeSchema(pool)
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
  const counting = countSteps({ pool, metrics, logger, now: () => new Date(), everyMs: 20 })
  await counting.first
  await vi.waitFor(async () => {
    const text = await metrics.text()
    expect(linesOf(text, 'step_count')).toEqual([
      'step_count{process="assessments",step="expire",state="due"} 2',
      'step_count{process="assessments",step="expire",state="waiting"} 1',
    ])
    const [due = '', waiting = ''] = linesOf(text, 'step_oldest_seconds')
    expect(Number(due.split(' ').at(-1))).toBeGreaterThanOrEqual(99)
    expect(waiting).toBe('step_oldest_seconds{process="assessments",step="expire",state="waiting"} 0')
  })
  await counting.close()
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
  expect(figuresOf(counts, at)).toEqual([{ labels, count: 5, oldestSeconds: 30 }])
})
