import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { createClaimsPool } from '../../../engine/processes/claims-pool.ts'
import { Claims } from '../../../engine/processes/claims.ts'
import { ConcurrencyKeys, type KeyQuotas } from '../../../engine/processes/concurrency-keys.ts'
import { noConcurrencyKey } from '../../../engine/processes/todo-tables.ts'
import { emptyProjectors } from '../../support/empty-projectors.ts'
import { freshDatabase, type FreshDatabase } from '../../support/postgres.ts'
import { errands } from './errands.ts'

let database: FreshDatabase
/** One connection, whose reads can be counted. */
let pool: Pool
/** Has time for thousands of rows, also on a busy machine. */
let patient: Pool

beforeAll(async () => {
  database = await freshDatabase()
  pool = createClaimsPool({ url: database.url, max: 1 })
  patient = createPool({ url: database.url, max: 1, statementTimeoutMs: 120_000 })
  await ensureRuntimeSchema(pool)
})
afterAll(async () => {
  await pool.end()
  await patient.end()
  await database.drop()
})
beforeEach(async () => {
  await emptyProjectors(pool, [errands.list])
  await pool.query('delete from runtime.claims')
})

const now = new Date('2030-01-01T00:00:00.000Z')
const lease = new Date(now.getTime() + 20_000)
const at = (ms: number) => new Date(now.getTime() + ms)

function claimsOf({ version = 1, worker = `worker ${randomUUID()}` } = {}): Claims {
  return new Claims(pool, { ...errands, list: { ...errands.list, version } }, { id: worker })
}

/** Inserts so many rows of a concurrency key, a millisecond apart. The last one is due at `until`. */
async function fill(name: string, count: number, until = at(-1)): Promise<void> {
  await patient.query(
    `insert into errand_list.todo (key, step, org_id, due_at, payload, lane)
     select $1 || '-' || n, 'run', 'org-1', $2::timestamptz - ($3::integer - n) * interval '1 millisecond', '{}', $1 from generate_series(1, $3::integer) n`,
    [name, until, count],
  )
}

function quotasOf(known: KeyQuotas['known'], { others = 2, unhealthy = 4 } = {}): KeyQuotas {
  return { others, unhealthy, known }
}
const room = (key: string, steps: number, isUnhealthy = false, inHand = 0) => ({
  key,
  room: steps,
  inHand,
  isUnhealthy,
})

async function claimedOf(quotas: KeyQuotas, { limit = 16, claims = claimsOf() } = {}): Promise<string[]> {
  const claimed = await claims.claim(limit, now, lease, quotas)
  for (const { todo, concurrencyKey } of claimed) expect(todo.key.startsWith(`${concurrencyKey}-`)).toBe(true)
  return claimed.map(({ todo }) => todo.key)
}

const countOf = (keys: readonly string[], name: string) => keys.filter((key) => key.startsWith(`${name}-`)).length

/** Counts the rows and index entries of the to-do table that the work reads. */
async function readsOf(work: () => Promise<unknown>): Promise<number> {
  const count = async () => {
    await pool.query('select pg_stat_force_next_flush()')
    await pool.query('select 1')
    const { rows } = await pool.query<{ reads: number }>(
      `select (t.seq_tup_read + (select sum(idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid))::float8 as reads
       from pg_stat_user_tables t where t.schemaname = 'errand_list' and t.relname = 'todo'`,
    )
    return rows[0]?.reads ?? Number.NaN
  }
  const before = await count()
  await work()
  return (await count()) - before
}

describe('a claim of a list with concurrency keys', () => {
  it('takes the oldest rows of each key, as many as the key may have', async () => {
    await fill('a', 5, at(-100))
    await fill('b', 5, at(-50))
    await fill('c', 5)
    expect(await claimedOf(quotasOf([room('a', 3), room('c', 0)]))).toEqual(['a-1', 'a-2', 'a-3', 'b-1', 'b-2'])
    expect(await claimedOf(quotasOf([room('a', 3), room('c', 1)]))).toEqual(['a-4', 'a-5', 'b-3', 'b-4', 'c-1'])
  })

  it('takes no more than its limit, the oldest rows first', async () => {
    await fill('young', 10, at(-10))
    await fill('old', 10, at(-1_000))
    expect(await claimedOf(quotasOf([room('young', 8), room('old', 2)]), { limit: 4 })).toEqual([
      'old-1',
      'old-2',
      'young-1',
      'young-2',
    ])
  })

  it('takes first the rows of the keys with the fewest running steps', async () => {
    const slow = ['slow0', 'slow1', 'slow2']
    for (const name of slow) await fill(name, 50, at(-60_000))
    await fill('quick', 5)
    await fill('begun', 5, at(-10))
    const known = [...slow.map((name) => room(name, 2, false, 6)), room('begun', 7, false, 1)]
    expect(await claimedOf(quotasOf(known), { limit: 1 })).toEqual(['quick-1'])
    expect((await claimedOf(quotasOf(known), { limit: 4 })).toSorted()).toEqual([
      'begun-1',
      'begun-2',
      'quick-2',
      'quick-3',
    ])
  })

  it('takes all rows without a receiver, beside the quotas of the keys', async () => {
    await fill(noConcurrencyKey, 10)
    await fill('a', 10)
    const keys = await claimedOf(new ConcurrencyKeys({ workers: 16, perKey: 8 }, () => 0.5).quotas(now))
    expect([countOf(keys, noConcurrencyKey), countOf(keys, 'a')]).toEqual([10, 2])
  })

  it('takes from all unhealthy keys together no more than their quota', async () => {
    const unhealthy = Array.from({ length: 10 }, (_, index) => `unhealthy${index}`)
    for (const name of unhealthy) await fill(name, 3, at(-1_000))
    await fill('well', 3)
    const keys = await claimedOf(
      quotasOf(
        unhealthy.map((name) => room(name, 1, true)),
        { unhealthy: 4 },
      ),
    )
    expect([keys.length, countOf(keys, 'well')]).toEqual([6, 2])
    expect(new Set(keys.slice(0, 4).map((key) => key.split('-')[0])).size).toBe(4)
  })

  it('lets unhealthy keys take turns, however long their queues are', async () => {
    const hogs = ['hog0', 'hog1']
    for (const name of hogs) await fill(name, 100, at(-60_000))
    await fill('recovering', 2)
    const keys = new ConcurrencyKeys({ workers: 8, perKey: 8 }, () => 0.5)
    for (const name of [...hogs, 'recovering']) {
      keys.begin(name, now)
      keys.end(name, { health: 'bad' }, now)
    }
    const rounds: string[][] = []
    for (let round = 0; round < 3; round += 1) {
      const begun = (await claimedOf(keys.quotas(now))).map((key) => key.split('-')[0] ?? '')
      for (const name of begun) keys.begin(name, now)
      for (const name of begun) keys.end(name, { health: 'bad' }, now)
      rounds.push(begun.toSorted())
    }
    expect(rounds).toEqual([
      ['hog0', 'hog1'],
      ['hog0', 'recovering'],
      ['hog0', 'hog1'],
    ])
  })

  it('takes of the rows that fail no more than their quota, in the order of their next tries', async () => {
    await fill('a', 4, at(-1_000))
    await fill('full', 1, at(-1_000))
    await fill('b', 1)
    await pool.query(
      `insert into runtime.claims (process, key, step, worker, lease_until, not_before, fence_commit, fence_prepare, failures, error_class)
       select 'errands', key, 'run', 'before', '-infinity', $1::timestamptz - make_interval(secs => due), 0, 0, 1, 'Error'
       from (values ('full-1', 5), ('a-3', 4), ('a-2', 3), ('a-4', 2), ('a-1', -1)) as failing (key, due)`,
      [now],
    )
    const quotas = quotasOf([room('a', 4), room('full', 0)])
    const claims = claimsOf()
    const claimed = await claims.claim(16, now, lease, quotas, 2)
    expect(claimed.map(({ todo, isFailing }) => `${todo.key} ${isFailing}`).toSorted()).toEqual([
      'a-2 true',
      'a-3 true',
      'b-1 false',
    ])
    expect(await claims.claim(16, now, lease, quotas, 0)).toEqual([])
    expect((await claims.claim(16, now, lease, quotas, 2)).map(({ todo }) => todo.key)).toEqual(['a-4'])
  })

  it('lets a row of a key that fails go behind the new ones that were due before its next try', async () => {
    await fill('a', 3, at(-1_000))
    await pool.query(
      `insert into runtime.claims (process, key, step, worker, lease_until, not_before, fence_commit, fence_prepare, failures, error_class)
       select 'errands', key, 'run', 'before', '-infinity', $1::timestamptz + make_interval(secs => next), 0, 0, 1, 'Error'
       from (values ('a-1', -0.1), ('a-2', -0.5)) as failing (key, next)`,
      [now],
    )
    const quotas = quotasOf([room('a', 1)])
    expect(await claimedOf(quotas)).toEqual(['a-3'])
    expect(await claimedOf(quotas)).toEqual(['a-2'])
    expect(await claimedOf(quotas)).toEqual(['a-1'])
  })

  it('takes no row that is not due, belongs to another worker, or waits for its time or its list', async () => {
    await fill('a', 4)
    await fill('later', 1, at(1))
    const first = claimsOf({ worker: 'first' })
    expect(await claimedOf(quotasOf([room('a', 3)]), { claims: first })).toEqual(['a-1', 'a-2', 'a-3'])
    await first.complete([
      { key: 'a-2', step: 'run', notBefore: at(1), fence: undefined, failures: 1, isDone: false },
      { key: 'a-3', step: 'run', notBefore: now, fence: { commit: 5n, prepare: 5n }, failures: 0, isDone: true },
    ])
    expect(await claimedOf(quotasOf([room('a', 4)]))).toEqual(['a-4'])
    await pool.query(
      `update runtime.projectors set commit_position = 5, prepare_position = 5 where name = 'errand_list'`,
    )
    expect(await claimedOf(quotasOf([room('a', 4)]))).toEqual(['a-3'])
  })

  it('takes nothing from a list of another version or from a list that does not run', async () => {
    await fill('a', 1)
    expect(await claimedOf(quotasOf([]), { claims: claimsOf({ version: 2 }) })).toEqual([])
    await pool.query(`update runtime.projectors set status = 'rebuilding' where name = 'errand_list'`)
    expect(await claimedOf(quotasOf([]))).toEqual([])
  })

  it('of several instances that claim at once takes each row once', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `key${index}`)
    for (const name of names) await fill(name, 4)
    const several = createClaimsPool({ url: database.url, max: 4 })
    try {
      const claimed = await Promise.all(
        Array.from({ length: 4 }, async (_, index) => {
          const claims = new Claims(several, errands, { id: `worker-${index}` })
          return claims.claim(64, now, lease, quotasOf([], { others: 4 }))
        }),
      )
      const keys = claimed.flat().map(({ todo }) => todo.key)
      expect(new Set(keys).size).toBe(keys.length)
      const rest = await claimedOf(quotasOf([], { others: 4 }), { limit: 64 })
      expect([...keys, ...rest]).toHaveLength(32)
    } finally {
      await several.end()
    }
  })
})

describe('the next due row', () => {
  it('is the first one of a key with room', async () => {
    await fill('full', 3, at(10))
    await fill('open', 1, at(5_000))
    await fill('unhealthy', 1, at(2_000))
    expect(await claimsOf().nextDue(now, quotasOf([room('full', 0), room('unhealthy', 1, true)]))).toEqual(at(2_000))
    expect(await claimsOf().nextDue(now, quotasOf([room('full', 0), room('unhealthy', 0, true)]))).toEqual(at(5_000))
    expect(await claimsOf().nextDue(at(5_000), quotasOf([room('full', 0)]))).toBeUndefined()
    expect(await claimsOf({ version: 2 }).nextDue(now, quotasOf([]))).toBeUndefined()
  })
})

describe('a key whose receiver is dead', () => {
  it('costs the same however long its queue is', async () => {
    await fill('dead', 10_000, at(-60_000))
    await fill('a', 3)
    await fill('b', 3)
    await fill('dead-later', 1, at(60_000))
    const paused = quotasOf([room('dead', 0)])
    const unhealthy = quotasOf([room('dead', 1, true)])
    let keys: string[] = []
    expect(
      await readsOf(async () => {
        keys = await claimedOf(paused)
      }),
    ).toBeLessThan(1_000)
    expect(keys.toSorted()).toEqual(['a-1', 'a-2', 'b-1', 'b-2'])
    expect(
      await readsOf(async () => {
        keys = await claimedOf(unhealthy)
      }),
    ).toBeLessThan(1_000)
    expect(keys).toEqual(['dead-1', 'a-3', 'b-3'])
    expect(await readsOf(() => claimsOf().nextDue(now, paused))).toBeLessThan(1_000)
    expect(
      await readsOf(() => pool.query('select count(*) from errand_list.todo where payload is not null')),
    ).toBeGreaterThan(10_000)
  })

  it('costs no more if the planner expects one of many short queues', async () => {
    await fill('dead', 20_000, at(-60_000))
    await pool.query(
      `insert into errand_list.todo (key, step, due_at, payload, lane)
       select 'small' || n || '-1', 'run', $1::timestamptz - interval '1 minute', '{}', 'small' || n from generate_series(1, 500) n`,
      [now],
    )
    await pool.query('analyze errand_list.todo')
    let keys: string[] = []
    expect(
      await readsOf(async () => {
        keys = await claimedOf(quotasOf([room('dead', 1, true)]), { limit: 1_000 })
      }),
    ).toBeLessThan(5_000)
    expect([keys.length, countOf(keys, 'dead')]).toEqual([501, 1])
  })
})
