import type { Operations } from '../../contracts/operations/operations.ts'
import type { OperationsHealth, Overview } from '../../contracts/operations/record.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Pool } from '../../platform/database/database.ts'
import { limited } from '../../platform/kit/time-limits.ts'
import { processes } from '../../processes/registry.ts'
import { readLags } from '../projections/lag.ts'
import { readSystems } from './outside-systems.ts'
import { lifeOf, overviewOf, worstOf } from './overview.ts'
import { readProcesses } from './signs-of-life.ts'
import { countWork, findWork, listGroups, listWork } from './work.ts'

/** Callers within this time share an answer, so that many pages that are open cost as much as one. In milliseconds. */
const sharedForMs = 1_000
/** An event store that is away must not hold the answer up. Its own check names it. */
const storeLimitMs = 2_000
/** Events that are counted behind a read model. */
const mostCounted = 1_000

interface OperationsSources {
  readonly pool: Pool
  readonly store: () => Promise<Pick<EventStore, 'positionsBackwards'>>
  readonly now: () => Date
}

export function createOperations(sources: OperationsSources): Operations {
  const { pool } = sources
  let shared: { readonly overview: Promise<Overview>; readonly untilMs: number } | undefined
  return {
    processes: new Map(processes.map(({ name, steps }) => [name, Object.keys(steps)])),
    async overview() {
      const nowMs = performance.now()
      if (shared === undefined || shared.untilMs <= nowMs)
        shared = { overview: readOverview(sources), untilMs: nowMs + sharedForMs }
      try {
        return await shared.overview
      } catch (error) {
        shared = undefined
        throw error
      }
    },
    health: () => readHealth(pool),
    work: (filter, page) => listWork(pool, filter, page),
    workItem: (orgId, id) => findWork(pool, orgId, id),
    groups: (orgId) => listGroups(pool, orgId),
  }
}

/** What the route `/overview` answers, and what `platform status --json` prints. */
async function readOverview({ pool, store, now }: OperationsSources): Promise<Overview> {
  const [living, systems, work, projectors] = await Promise.all([
    readProcesses(pool),
    readSystems(pool),
    countWork(pool),
    limited(
      storeLimitMs,
      store().then((opened) => readLags(pool, opened, mostCounted)),
    ).catch(() => null),
  ])
  return overviewOf({ at: now(), processes: living, systems, work, projectors })
}

async function readHealth(pool: Pool): Promise<OperationsHealth> {
  const living = await readProcesses(pool)
  const checks = living.filter(({ status }) => status === 'running').flatMap((process) => process.checks)
  const failing = checks.flatMap(({ status }) => (status === 'ok' ? [] : [{ severity: status }]))
  const silent = living.filter(({ status }) => status === 'silent').map(() => ({ severity: 'warning' as const }))
  return {
    status: worstOf([...failing, ...silent]),
    processes: living.map((process) => ({ ...lifeOf(process), checks: [...process.checks] })),
  }
}
