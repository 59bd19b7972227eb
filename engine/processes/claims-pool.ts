import { createPool, type Pool, type PoolOptions } from '../../platform/database/database.ts'

/**
 * Connections for claims alone. A connection plans each statement once, for tables of any size, so it always reads in
 * the order of an index. Otherwise Postgres would plan each claim anew. It expects short queues for most concurrency
 * keys, so it would sort all due rows of a long queue. The planning alone would take longer than a claim.
 *
 * A claim that is lost in a crash of the database does no harm: the streams fence two workers at one row.
 */
export function createClaimsPool(options: Pick<PoolOptions, 'url' | 'max' | 'logger'>): Pool {
  const settings = {
    plan_cache_mode: 'force_generic_plan',
    enable_seqscan: 'off',
    enable_sort: 'off',
    synchronous_commit: 'off',
  }
  return createPool({ max: 5, ...options, name: 'claims', settings })
}
