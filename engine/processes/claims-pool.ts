import { createPool, type Pool, type PoolOptions } from '../../platform/database/database.ts'

/**
 * Connections for claims alone. A connection plans each statement once, so that it always reads in the order of an
 * index. Planned anew, which takes longer than a claim, it would sort all due rows of a long queue.
 *
 * A claim passes over the rows that fail by a hash table of their claims. Above `work_mem`, Postgres would read all these
 * claims again for each of the rows. With 100,000 of them, a claim would end at its time limit, and nothing would be
 * worked off.
 *
 * A claim that is lost in a crash of the database does no harm: the streams fence two workers at one row.
 */
export function createClaimsPool(options: Pick<PoolOptions, 'url' | 'max' | 'logger'>): Pool {
  const settings = {
    plan_cache_mode: 'force_generic_plan',
    enable_seqscan: 'off',
    enable_sort: 'off',
    synchronous_commit: 'off',
    work_mem: '128MB',
  }
  return createPool({ max: 5, ...options, name: 'claims', settings })
}
