import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Pool } from '../../../platform/database/database.ts'
import { contractVersion } from '../../../platform/http/common-headers.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { createClaimsPool } from '../../../engine/processes/claims-pool.ts'
import { Claims } from '../../../engine/processes/claims.ts'
import type { StepResult } from '../../../engine/processes/step-run.ts'
import { completionOf, runStep } from '../../../engine/processes/step-run.ts'
import { AppendOutcomeUnknownError, EventStoreUnavailableError } from '../../../engine/store/errors.ts'
import { problem } from '../../../platform/http/problems.ts'
import { emptyProjectors } from '../../support/empty-projectors.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { errands } from './errands.ts'

/** An error of the S3 client with this status of an answer. */
const ofObjectStore = (httpStatusCode: number) => Object.assign(new Error('canary'), { $metadata: { httpStatusCode } })

let database: FreshDatabase
let pool: Pool

beforeAll(async () => {
  database = await freshDatabase()
  pool = createClaimsPool({ url: database.url, max: 1 })
  await ensureRuntimeSchema(pool)
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})
beforeEach(async () => {
  await emptyProjectors(pool, [errands.list])
  await pool.query('delete from runtime.claims')
  await pool.query(
    `insert into errand_list.todo (key, step, org_id, due_at, payload, lane) values ('a', 'run', 'org-1', $1, '{}', '-')`,
    [at(-1)],
  )
})

const at = (ms: number) => new Date(Date.parse('2030-01-01T00:00:00.000Z') + ms)
const thrown = (code: string): StepResult => ({ error: Object.assign(new Error('canary'), { code }) })

/** Claims the row at that instant, and ends its step so. Returns what the claim then records. */
async function runEndingWith(result: StepResult, ms: number) {
  const claims = new Claims(pool, errands, { id: 'worker' })
  const [claimed] = await claims.claim(1, at(ms), at(ms + 20_000))
  if (claimed === undefined) return expect.unreachable('the row was not claimed')
  await claims.complete([completionOf(claimed, result, at(ms), () => 0)])
  const { rows } = await pool.query<object>(
    'select error_class, error_code, first_failed_at, last_failed_at, failed_version from runtime.claims',
  )
  return rows[0]
}

describe('the failure of a step', () => {
  it('is recorded with its first and last instant and the version, until a run succeeds', async () => {
    const first = { error_class: 'Error', error_code: 'EPIPE', first_failed_at: at(0), last_failed_at: at(0) }
    expect(await runEndingWith(thrown('EPIPE'), 0)).toEqual({ ...first, failed_version: contractVersion })
    const second = { ...first, error_code: 'ECONNRESET', last_failed_at: at(60_000), failed_version: contractVersion }
    expect(await runEndingWith(thrown('ECONNRESET'), 60_000)).toEqual(second)
    expect(await runEndingWith({ kind: 'wait', until: at(120_000) }, 120_000)).toEqual(second)
    expect(await runEndingWith({ kind: 'retry', after: 1, reason: 'circuit_open' }, 180_000)).toMatchObject({
      error_class: 'put_off',
      error_code: 'circuit_open',
      first_failed_at: at(0),
      last_failed_at: at(180_000),
    })
    expect(await runEndingWith({ kind: 'done' }, 240_000)).toEqual({
      error_class: null,
      error_code: null,
      first_failed_at: null,
      last_failed_at: null,
      failed_version: null,
    })
  })
})

describe('a step that goes on throwing', () => {
  const parking = { after: 3, retrySeconds: 3_600 }
  /** Runs the row once. Returns whether it is parked then, and for how many seconds it waits. Undefined if it is not claimable. */
  async function run(result: StepResult, seconds: number) {
    const claims = new Claims(pool, errands, { id: 'worker' }, parking)
    const [claimed] = await claims.claim(1, at(seconds * 1_000), at(seconds * 1_000 + 20_000))
    if (claimed === undefined) return undefined
    await claims.complete([completionOf(claimed, result, at(seconds * 1_000), () => 0)])
    const { rows } = await pool.query<{ is_parked: boolean; not_before: Date }>(
      'select is_parked, not_before from runtime.claims',
    )
    const [row] = rows
    return [row?.is_parked, ((row?.not_before.getTime() ?? 0) - at(seconds * 1_000).getTime()) / 1_000 > 60]
  }

  it('is parked after so many runs that threw in a row, and tried seldom', async () => {
    expect(await run(thrown('ERR_INVALID_ARG_TYPE'), 0)).toEqual([false, false])
    expect(await run(thrown('ERR_INVALID_ARG_TYPE'), 100)).toEqual([false, false])
    // It waits, or is put off: it has not thrown.
    expect(await run({ kind: 'wait', until: at(200_000) }, 200)).toEqual([false, false])
    expect(await run(thrown('ERR_INVALID_ARG_TYPE'), 300)).toEqual([true, true])
    expect(await run(thrown('ERR_INVALID_ARG_TYPE'), 3_899)).toBeUndefined()
    expect(await run(thrown('ERR_INVALID_ARG_TYPE'), 3_901)).toEqual([true, true])
    // A retry makes it claimable.
    await pool.query(`update runtime.claims set not_before = '-infinity'`)
    expect(await run({ kind: 'done' }, 3_902)).toEqual([false, false])
    expect(await run(thrown('ERR_INVALID_ARG_TYPE'), 4_000)).toEqual([false, false])
  })

  it('is not parked by runs that did nothing', async () => {
    for (let minute = 0; minute < 5; minute += 1)
      expect(await run({ kind: 'done' }, minute * 60)).toEqual([false, false])
    expect(await run(thrown('ERR_INVALID_ARG_TYPE'), 600)).toEqual([false, false])
  })

  it.each([
    ['the event store', new EventStoreUnavailableError('a read')],
    ['the event store in an append', new AppendOutcomeUnknownError('errand-1', 3)],
    ['the object store', problem('object-store-unavailable')],
    ['the object store, whose answer is 500', ofObjectStore(500)],
    ['a database', Object.assign(new Error('canary'), { code: '57P01' })],
  ])('is not parked by runs while a server was away: %s', async (_, error) => {
    for (let minute = 0; minute < 5; minute += 1) expect(await run({ error }, minute * 60)).toEqual([false, false])
  })

  it.each([
    ['the object store', problem('object-store-unavailable', { cause: ofObjectStore(403) })],
    ['the identity provider', problem('identity-provider-unavailable')],
  ])('is parked by a refusal of %s', async (_, error) => {
    const parked: unknown[] = []
    for (let minute = 0; minute < 5; minute += 1) parked.push((await run({ error }, minute * 60))?.[1])
    expect(parked).toContain(true)
  })

  it('is not parked by appends that outlast it', async () => {
    const context = { now: () => at(0), endedLeases: [], mayCallAgain: true, signal: new AbortController().signal }
    const todo = { key: 'a', step: 'run', orgId: 'org-1', dueAt: at(-1), payload: {} }
    const term = { leaseUntil: at(20_000).toISOString(), timeoutMs: 1, abandonMs: 2 }
    const result = await runStep(() => new Promise<never>(() => undefined), todo, context, term)
    for (let minute = 0; minute < 5; minute += 1) expect(await run(result, minute * 60)).toEqual([false, false])
  })
})
