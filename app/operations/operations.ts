import type { Operations } from '../../contracts/operations/operations.ts'
import type { OperationsHealth, Overview } from '../../contracts/operations/record.ts'
import type { Pool } from '../../platform/database/database.ts'
import { processes } from '../../processes/registry.ts'
import { disabledEndpoints, listEndpoints } from './endpoints.ts'
import { readSystems } from './outside-systems.ts'
import { lifeOf, overviewOf, worstOf } from './overview.ts'
import { lagsWithin, readProjectionStates, type LogOfOperations } from './projection-states.ts'
import { readProcesses } from './signs-of-life.ts'
import { countWork, findWork, listGroups, listWork } from './work.ts'

/** Callers within this time share an answer, so that many pages that are open cost as much as one. In milliseconds. */
const sharedForMs = 1_000
interface OperationsSources {
  readonly pool: Pool
  readonly store: LogOfOperations
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
    projections: () => readProjectionStates(pool, sources.store),
    endpoints: (orgId, page) => listEndpoints(pool, orgId, page),
    groups: (orgId) => listGroups(pool, orgId),
  }
}

/** What the route `/overview` answers, and what `platform status --json` prints. */
async function readOverview({ pool, store, now }: OperationsSources): Promise<Overview> {
  const [living, systems, work, projectors, disabled] = await Promise.all([
    readProcesses(pool),
    readSystems(pool),
    countWork(pool),
    lagsWithin(pool, store),
    disabledEndpoints(pool),
  ])
  return overviewOf({ at: now(), processes: living, systems, work, projectors, disabled })
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
