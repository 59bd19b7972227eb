import type { OperationsProblem, Overview } from '../../contracts/operations/record.ts'
import { allRoles } from '../roles.ts'
import type { ProjectorLag } from '../projections/lag.ts'
import type { DisabledEndpoint } from './endpoints.ts'
import { blockedRelays } from './relays.ts'
import type { SystemStatus } from './outside-systems.ts'
import type { ProcessLife } from './signs-of-life.ts'
import { otherGroup, type WorkCounts } from './work.ts'

export interface Seen {
  readonly at: Date
  readonly processes: readonly ProcessLife[]
  readonly systems: readonly SystemStatus[]
  readonly work: readonly WorkCounts[]
  /** Null while the event store is away. */
  readonly projectors: readonly ProjectorLag[] | null
  readonly disabled: readonly DisabledEndpoint[]
  readonly rates: Overview['rates']
  readonly seal: Overview['seal']
}

/** The overview names at most so many failure groups. */
const mostGroups = 100
/** Work that has been due for so long is late. In milliseconds. */
const lateMs = 60_000
/** A read model that has not moved for so long, and has events before it, is behind. */
const behindSeconds = 10

/** The answer follows from what was read, so that the route and the command give the same one. */
export function overviewOf({ at, processes, systems, work, projectors, disabled, rates, seal }: Seen): Overview {
  const problems = [
    ...ofProcesses(processes),
    ...ofSystems(systems),
    ...ofProjectors(projectors ?? [], at),
    ...blockedRelays(processes).map(({ channel, moved_at: since }) =>
      problem('relay-blocked', 'failing', channel, since),
    ),
    ...ofWork(work, at),
    ...disabled.map(({ id, since }) => problem('endpoint-disabled', 'warning', id, since)),
  ].toSorted((one, other) => rank(one) - rank(other))
  const count = (state: WorkCounts['state']) =>
    work.reduce((sum, counted) => sum + (counted.state === state ? counted.count : 0), 0)
  return {
    at: at.toISOString(),
    status: worstOf(problems),
    problems,
    systems: systems.map(({ name, status, lastSuccessAt, failingSince, failures, error }) => ({
      name,
      status,
      last_success_at: lastSuccessAt?.toISOString() ?? null,
      failing_since: failingSince?.toISOString() ?? null,
      failures,
      error,
    })),
    steps: {
      due: count('due'),
      waiting: count('waiting'),
      leased: count('leased'),
      failing: count('failing'),
      parked: count('parked'),
      failed: count('failed'),
    },
    lag: lagOf(projectors ?? []),
    oldest_work: oldestOf(work, at),
    processes: processes.map(lifeOf),
    seal,
    rates,
  }
}

export function lifeOf({ id, roles, version, profile, startedAt, seenAt, status }: ProcessLife) {
  const instants = { started_at: startedAt.toISOString(), seen_at: seenAt.toISOString() }
  return { id, roles: [...roles], version, profile, ...instants, status }
}

export function worstOf(problems: readonly { readonly severity: 'warning' | 'failing' }[]): Overview['status'] {
  if (problems.some(({ severity }) => severity === 'failing')) return 'failing'
  return problems.length > 0 ? 'warning' : 'ok'
}

function rank({ severity }: OperationsProblem): number {
  return severity === 'failing' ? 0 : 1
}

function problem(
  code: OperationsProblem['code'],
  severity: OperationsProblem['severity'],
  subject: string,
  since: Date | string | null,
  count = 1,
): OperationsProblem {
  const instant = since instanceof Date ? since.toISOString() : since
  const page = pageOf(code, subject)
  return { code, severity, subject, since: instant, count, page, runbook: `docs/operating.md#${code}` }
}

function pageOf(code: OperationsProblem['code'], subject: string): string {
  switch (code) {
    case 'work-failing':
      return subject === otherGroup ? '/console/work' : `/console/work?group=${encodeURIComponent(subject)}`
    case 'work-late':
      return '/console/work?state=due'
    case 'endpoint-disabled':
      return '/console/webhooks'
    case 'projection-failed':
    case 'projection-behind':
      return '/console/read-models'
    case 'seal-late':
      return '/console/log'
    default:
      return '/console'
  }
}

function ofProcesses(processes: readonly ProcessLife[]): OperationsProblem[] {
  const running = processes.filter(({ status }) => status === 'running')
  const missing = allRoles.filter((role) => !running.some(({ roles }) => roles.includes(role)))
  const lastSeen = (role: string) =>
    processes
      .filter(({ roles }) => roles.includes(role))
      .map(({ seenAt }) => seenAt)
      .toSorted((one, other) => other.getTime() - one.getTime())[0] ?? null
  return [
    ...missing.map((role) => problem('role-missing', 'failing', role, lastSeen(role))),
    ...processes
      .filter(({ status }) => status === 'silent')
      .map(({ id, seenAt }) => problem('process-silent', 'warning', id, seenAt)),
    ...checksOf(running),
  ]
}

/** Checks that are problems of their own, with their subject. */
const ownProblems: ReadonlyMap<string, { readonly code: OperationsProblem['code']; readonly subject: string }> =
  new Map([
    ['sealed_log', { code: 'seal-late', subject: 'log' }],
    ['calls-held', { code: 'calls-held', subject: 'calls' }],
  ])

/** One for each check, however many processes fail it. */
function checksOf(running: readonly ProcessLife[]): OperationsProblem[] {
  const failing = running.flatMap(({ checks }) => checks.filter(({ status }) => status !== 'ok'))
  return [...new Set(failing.map(({ name }) => name))].map((name) => {
    const ofName = failing.filter((check) => check.name === name)
    const severity = ofName.some(({ status }) => status === 'failing') ? 'failing' : 'warning'
    const [since = null] = ofName.map((check) => check.since).toSorted()
    const own = ownProblems.get(name)
    if (own !== undefined) return problem(own.code, severity, own.subject, since)
    return problem('check-failing', severity, name, since, ofName.length)
  })
}

function ofSystems(systems: readonly SystemStatus[]): OperationsProblem[] {
  return systems
    .filter(({ status }) => status === 'failing')
    .map(({ name, failingSince, failures }) => problem('system-failing', 'failing', name, failingSince, failures))
}

function ofProjectors(projectors: readonly ProjectorLag[], at: Date): OperationsProblem[] {
  const before = (seconds: number) => new Date(at.getTime() - seconds * 1_000)
  return projectors.flatMap(({ name, isFailed, events, idleSeconds }) => {
    if (isFailed) return [problem('projection-failed', 'failing', name, before(idleSeconds))]
    const isBehind = events > 0 && idleSeconds >= behindSeconds
    return isBehind ? [problem('projection-behind', 'warning', name, before(idleSeconds), events)] : []
  })
}

function lagOf(projectors: readonly ProjectorLag[]): Overview['lag'] {
  const [worst] = projectors
    .filter(({ events }) => events > 0)
    .toSorted((one, other) => other.events - one.events || other.idleSeconds - one.idleSeconds)
  if (worst === undefined) return null
  return { projector: worst.name, events: worst.events, seconds: Math.round(worst.idleSeconds) }
}

interface FailingWork {
  readonly since: Date
  readonly count: number
}

function ofWork(work: readonly WorkCounts[], at: Date): OperationsProblem[] {
  const groups = new Map<string, FailingWork>()
  for (const { failure } of work) {
    if (failure === null) continue
    const known = groups.get(failure.groupId)
    groups.set(failure.groupId, {
      since: known === undefined || failure.since < known.since ? failure.since : known.since,
      count: (known?.count ?? 0) + failure.count,
    })
  }
  const late = work.filter(
    ({ state, oldestDueAt }) => state === 'due' && at.getTime() - oldestDueAt.getTime() >= lateMs,
  )
  return [
    ...mostFailing(groups).map(([id, { since, count }]) => problem('work-failing', 'warning', id, since, count)),
    ...late.map(({ process, step, oldestDueAt, count }) =>
      problem('work-late', 'warning', `${process}.${step}`, oldestDueAt, count),
    ),
  ]
}

/** The largest groups, and all others as one. Each host of a webhook that fails makes one. */
function mostFailing(groups: ReadonlyMap<string, FailingWork>): (readonly [string, FailingWork])[] {
  const bySize = [...groups].toSorted(([, one], [, other]) => other.count - one.count)
  const rest = bySize.splice(mostGroups).map(([, group]) => group)
  const [oldest] = rest.map(({ since }) => since).toSorted((one, other) => one.getTime() - other.getTime())
  if (oldest === undefined) return bySize
  return [...bySize, [otherGroup, { since: oldest, count: rest.reduce((sum, { count }) => sum + count, 0) }]]
}

function oldestOf(work: readonly WorkCounts[], at: Date): Overview['oldest_work'] {
  const [oldest] = work
    .filter(
      ({ state, oldestDueAt }) => (state === 'due' || state === 'failing' || state === 'parked') && oldestDueAt <= at,
    )
    .toSorted((one, other) => one.oldestDueAt.getTime() - other.oldestDueAt.getTime())
  if (oldest === undefined) return null
  return { process: oldest.process, step: oldest.step, since: oldest.oldestDueAt.toISOString() }
}
