import { createPool, type Pool, type PoolOptions } from '../../platform/database/database.ts'

/**
 * Connections for the batches of projectors. Prepared statements are planned once, for tables of any size: from the
 * given rows to the rows of a named index. A free planner may choose a full scan while a table is empty, and keep that
 * plan after the table has grown.
 */
export function createWritePool(options: Pick<PoolOptions, 'url' | 'max' | 'logger'>): Pool {
  const settings = {
    plan_cache_mode: 'force_generic_plan',
    enable_seqscan: 'off',
    enable_hashjoin: 'off',
    enable_mergejoin: 'off',
  }
  return createPool({ max: 4, ...options, name: 'projections', settings })
}
