import { createPool, type Pool, type PoolOptions } from '../../platform/database/database.ts'

/**
 * Connections for claims alone. Their few statements are planned once per connection and for tables of any size: by the order
 * of an index, whatever a list holds at that moment. Where the planner is free, it takes the rows of most lanes for few,
 * and sorts all that are due of the one that has piled up; and planning takes longer than claiming.
 *
 * A claim that a crash of the database takes with it does no harm: what two workers do at once, the stream keeps apart.
 */
export function createClaimsPool(options: Pick<PoolOptions, 'url' | 'max' | 'logger'>): Pool {
  const settings = {
    plan_cache_mode: 'force_generic_plan',
    enable_seqscan: 'off',
    enable_sort: 'off',
    synchronous_commit: 'off',
  }
  return createPool({ max: 4, ...options, name: 'claims', settings })
}
