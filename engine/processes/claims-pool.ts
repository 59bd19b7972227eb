import { createPool, type Pool, type PoolOptions } from '../../platform/database/database.ts'

/**
 * Connections for claims alone. A connection plans each of their few statements once, for tables of any size, so that it
 * always reads in the order of an index. A free planner expects short queues for most concurrency keys: it would sort all
 * due rows of a long queue. It would also plan for longer than a claim takes.
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
