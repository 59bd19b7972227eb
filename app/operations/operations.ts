import type { Operations, RequestedRetry, RetryOrder } from '../../contracts/operations/operations.ts'
import type { FailureGroup, OperationsHealth, Overview, WorkDetail } from '../../contracts/operations/record.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { Pool } from '../../platform/database/database.ts'
import { problem, type Problem } from '../../platform/http/problems.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { processes } from '../../processes/registry.ts'
import type { FailureOfWork } from '../../streams/operations/events.ts'
import { disabledEndpoints, listEndpoints } from './endpoints.ts'
import { readSystems } from './outside-systems.ts'
import { lifeOf, overviewOf, worstOf, type Seen } from './overview.ts'
import { lagsWithin, readProjectionStates } from './projection-states.ts'
import { readRates } from './rates.ts'
import { relayStatesOf } from './relays.ts'
import { requestOperation } from './projection-operations.ts'
import { newestRetries, readRetry, requestRetry, retriedGroups } from './retries.ts'
import { sealWithin } from './seals.ts'
import { readProcesses } from './signs-of-life.ts'
import {
  countWork,
  failureOfGroup,
  failureOfWork,
  findWork,
  isRetryable,
  listGroups,
  listWork,
  otherGroup,
  withoutItems,
} from './work.ts'
import type { WorkSource } from './work-relation.ts'

/**
 * Callers within this time share an answer, so that many pages that are open cost as much as one. In milliseconds. They share a
 * slow one until it is there: several at a time would take all connections of the database.
 */
const sharedForMs = 1_000

export interface OperationsSources extends WorkSource {
  readonly store: () => Promise<EventStore>
  readonly now: () => Date
}

export function createOperations(sources: OperationsSources): Operations {
  const { pool } = sources
  let shared: { readonly overview: Promise<Overview>; untilMs: number } | undefined
  return {
    processes: new Map(processes.map(({ name, steps }) => [name, Object.keys(steps)])),
    async overview() {
      const nowMs = performance.now()
      if (shared === undefined || shared.untilMs <= nowMs)
        shared = { overview: readSeen(sources).then(overviewOf), untilMs: Infinity }
      const own = shared
      try {
        const overview = await own.overview
        own.untilMs = Math.min(own.untilMs, nowMs + sharedForMs)
        return overview
      } catch (error) {
        if (shared === own) shared = undefined
        throw error
      }
    },
    health: () => readHealth(pool),
    work: (filter, page) => listWork(sources, filter, page),
    workItem: (orgId, id) => readWork(sources, orgId, id),
    projections: () => readProjectionStates(pool, sources.store),
    relays: async () => relayStatesOf(await readProcesses(pool), sources.now()),
    seal: () => sealWithin(sources),
    endpoints: (orgId, page) => listEndpoints(pool, orgId, page),
    groups: (orgId) => readGroups(sources, orgId),
    retry: (order) => retry(sources, order),
    retryOf: (id) => readRetry(pool, id),
    workOnProjection: async (order) =>
      requestOperation({ pool, store: await sources.store(), now: sources.now }, order),
  }
}

/** From which the overview follows: of the route, of `platform status`, and of the figures for alerts. */
export async function readSeen(sources: OperationsSources): Promise<Seen> {
  const { pool, store, now } = sources
  const at = now()
  const [living, systems, work, projectors, disabled, rates, seal] = await Promise.all([
    readProcesses(pool),
    readSystems(pool),
    countWork(sources),
    lagsWithin(pool, store),
    disabledEndpoints(pool),
    readRates(pool, at),
    sealWithin(sources),
  ])
  return { at, processes: living, systems, work, projectors, disabled, rates, seal }
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

async function readWork(source: WorkSource, orgId: TenantId | null, id: string): Promise<WorkDetail | undefined> {
  const [found, retries] = await Promise.all([findWork(source, orgId, id), newestRetries(source.pool, [id])])
  return found === undefined ? undefined : { ...found, retry: retries.get(id) ?? null }
}

/** A group without items stays for an hour after a retry. */
async function readGroups(source: WorkSource, orgId: TenantId | null): Promise<readonly FailureGroup[]> {
  const { pool } = source
  const [found, retried] = await Promise.all([
    listGroups(source, orgId),
    orgId === null ? retriedGroups(pool) : new Map(),
  ])
  const present = new Set(found.map(({ id }) => id))
  const emptied = [...retried].flatMap(([id, group]) => (present.has(id) ? [] : [withoutItems(id, group)]))
  const groups = [...found, ...emptied]
  const retries = await newestRetries(
    pool,
    groups.map(({ id }) => id),
  )
  return groups.map((group) => ({ ...group, retry: retries.get(group.id) ?? null }))
}

async function retry(sources: OperationsSources, order: RetryOrder): Promise<RequestedRetry> {
  return requestRetry(sources, await failureToRetry(sources, order), order)
}

/** How the work of the target fails, or why it cannot be retried. */
async function failureToRetry(source: WorkSource, { target, orgId }: RetryOrder): Promise<FailureOfWork | Problem> {
  if (target.id === otherGroup) return problem('not-retryable')
  const failure =
    target.kind === 'step' ? await failureOfWork(source, orgId, target.id) : await failureOfGroup(source, target.id)
  if (failure === undefined) return problem('not-found')
  if (failure === null) return problem('step-not-failing')
  return isRetryable(failure.kind, failure.errorClass) ? failure : problem('not-retryable')
}
