import { createPool, type Pool, type PoolOptions } from '../../platform/database/database.ts'

/**
 * Connections for the batches of projectors. What they prepare is planned once, for tables of any size: by the rows that are
 * given to the rows of an index that they name. Where the planner is free, a plan that was made while a table was empty
 * reads through all of it once it has grown.
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
