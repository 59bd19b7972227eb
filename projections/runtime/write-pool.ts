import { createPool, type Pool, type PoolOptions } from '../../platform/database.ts'

/**
 * Connections for the batches of projectors. What they prepare is parsed once, and planned each time: a plan that was made
 * while a table was empty would read through all of it once it has grown.
 */
export function createWritePool(options: Pick<PoolOptions, 'url' | 'logger'>): Pool {
  return createPool({ ...options, max: 4, name: 'projections', settings: { plan_cache_mode: 'force_custom_plan' } })
}
