import { describe, expect, it, vi } from 'vitest'
import { createOperations, type OperationsSources } from '../../../app/operations/operations.ts'
import { overviewOf, type Seen } from '../../../app/operations/overview.ts'
import { otherGroup } from '../../../app/operations/work.ts'
import { problemCodes } from '../../../contracts/operations/record.ts'
import { before, runningProcess as process, seenWell as well, seenWithProblems, usedSystem as system } from './seen.ts'

const row = { kind: 'step', process: 'assessments', step: 'conclude', count: 1, failure: null } as const

/** The problems of an overview, as code, severity, subject, since and count. */
const problemsOf = (seen: Partial<Seen>) =>
  overviewOf({ ...well, ...seen }).problems.map(({ code, severity, subject, since, count }) => [
    code,
    severity,
    subject,
    since,
    count,
  ])
const instant = (seconds: number) => before(seconds).toISOString()

describe('the overview', () => {
  it('is read once at a time, however slow the database is and however many ask', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    try {
      const waiting: ((error: Error) => void)[] = []
      const query = () => new Promise((_, reject) => waiting.push(reject))
      const away = () => Promise.reject(new Error('the event store is away'))
      // Nothing else of a pool is used.
      const pool: OperationsSources['pool'] = Object.assign(Object.create(null), { query })
      const operations = createOperations({ pool, failedRetentionSeconds: 1, store: away, now: () => new Date() })
      const asked = [operations.overview()]
      const queries = waiting.length
      expect(queries).toBeGreaterThan(0)
      for (let second = 1; second <= 20; second += 1) {
        vi.advanceTimersByTime(1_000)
        asked.push(operations.overview())
      }
      expect(waiting).toHaveLength(queries)
      for (const reject of waiting) reject(new Error('the database is away'))
      for (const { status } of await Promise.allSettled(asked)) expect(status).toBe('rejected')
      void operations.overview().catch(() => undefined)
      expect(waiting.length).toBeGreaterThan(queries)
    } finally {
      vi.useRealTimers()
    }
  })

  it('is ok without a problem', () => {
    const { status, problems, lag, oldest_work: oldest } = overviewOf(well)
    expect([status, problems, lag, oldest]).toEqual(['ok', [], null, null])
  })

  it('names a role that no process runs, and a process without a sign of life', () => {
    const silent = { ...process, id: 'silent', roles: ['processor'], seenAt: before(20), status: 'silent' } as const
    const others = { ...process, roles: ['api', 'projector'] }
    expect(problemsOf({ processes: [others, silent] })).toEqual([
      ['role-missing', 'failing', 'processor', instant(20), 1],
      ['process-silent', 'warning', 'silent', instant(20), 1],
    ])
    expect(problemsOf({ processes: [process, silent] })).toEqual([
      ['process-silent', 'warning', 'silent', instant(20), 1],
    ])
    expect(problemsOf({ processes: [] })).toHaveLength(3)
  })

  it('names calls that are held, once for all processes', () => {
    const check = { name: 'calls-held', status: 'warning', detail: 'restored', since: instant(30) } as const
    const restored = { ...process, checks: [check] }
    expect(problemsOf({ processes: [restored, restored] })).toEqual([
      ['calls-held', 'warning', 'calls', instant(30), 1],
    ])
  })

  it('can have each problem of the contract, and no other', () => {
    const codes = overviewOf(seenWithProblems).problems.map(({ code }) => code)
    expect([...new Set(codes)].toSorted()).toEqual(problemCodes.toSorted())
  })

  it('names a seal that is late', () => {
    const check = { name: 'sealed_log', status: 'warning', detail: 'late', since: instant(30) } as const
    expect(problemsOf({ processes: [{ ...process, checks: [check] }] })).toEqual([
      ['seal-late', 'warning', 'log', instant(30), 1],
    ])
  })

  it('names the channel of a relay that is blocked', () => {
    const relay = (channel: string, state: 'running' | 'blocked') => ({
      channel,
      state,
      position: '7/7',
      moved_at: instant(30),
    })
    const relays = [relay('audit.events', 'running'), relay('consent.events', 'blocked')]
    expect(problemsOf({ processes: [{ ...process, relays }] })).toEqual([
      ['relay-blocked', 'failing', 'consent.events', instant(30), 1],
    ])
  })

  it('names a check once, with the worst status of all processes, and not those of silent ones', () => {
    const check = (status: 'ok' | 'warning' | 'failing', seconds: number) => ({
      name: 'object_store',
      status,
      detail: null,
      since: instant(seconds),
    })
    const processes = [
      { ...process, checks: [check('warning', 30)] },
      { ...process, checks: [check('failing', 20)] },
      { ...process, checks: [check('ok', 90)] },
    ]
    expect(problemsOf({ processes })).toEqual([['check-failing', 'failing', 'object_store', instant(30), 2]])
    expect(problemsOf({ processes: processes.slice(0, 1) })[0]?.[1]).toBe('warning')
  })

  it('names a system that fails', () => {
    const failing = { ...system, name: 'mail', status: 'failing', failures: 4, failingSince: before(9) } as const
    expect(problemsOf({ systems: [failing] })).toEqual([['system-failing', 'failing', 'mail', instant(9), 4]])
  })

  it('names a read model that stopped or is behind, and the one that is furthest behind', () => {
    const projectors = [
      { name: 'patients', isFailed: true, events: 3, idleSeconds: 60 },
      { name: 'cases', isFailed: false, events: 9, idleSeconds: 12 },
      { name: 'moving', isFailed: false, events: 500, idleSeconds: 1 },
      { name: 'idle', isFailed: false, events: 0, idleSeconds: 600 },
    ]
    expect(problemsOf({ projectors })).toEqual([
      ['projection-failed', 'failing', 'patients', instant(60), 1],
      ['projection-behind', 'warning', 'cases', instant(12), 9],
    ])
    expect(overviewOf({ ...well, projectors }).lag).toEqual({ projector: 'moving', events: 500, seconds: 1 })
  })

  it('names endpoints that the platform disabled', () => {
    expect(problemsOf({ disabled: [{ id: 'endpoint', since: before(3_600) }] })).toEqual([
      ['endpoint-disabled', 'warning', 'endpoint', instant(3_600), 1],
    ])
  })

  it('names each failure group, also while its work is tried, and work that nobody does', () => {
    const failure = { groupId: 'group', since: before(40), count: 2 }
    const work = [
      { ...row, state: 'failing', count: 2, oldestDueAt: before(50), failure },
      { ...row, state: 'leased', oldestDueAt: before(80), failure: { ...failure, since: before(45), count: 1 } },
      { ...row, step: 'expire', state: 'due', count: 5, oldestDueAt: before(61) },
      { ...row, step: 'follow-opened-task', state: 'due', count: 5, oldestDueAt: before(59) },
      { ...row, state: 'waiting', oldestDueAt: before(-5) },
    ] as const
    expect(problemsOf({ work })).toEqual([
      ['work-failing', 'warning', 'group', instant(45), 3],
      ['work-late', 'warning', 'assessments.expire', instant(61), 5],
    ])
    const { steps, oldest_work: oldest, status } = overviewOf({ ...well, work })
    expect(steps).toEqual({ due: 10, waiting: 1, leased: 1, failing: 2, parked: 0, failed: 0 })
    expect(oldest).toEqual({ process: 'assessments', step: 'expire', since: instant(61) })
    expect(status).toBe('warning')
  })

  it('names the hundred largest failure groups, and all others as one', () => {
    const work = Array.from({ length: 150 }, (_, number) => {
      const failure = { groupId: `group-${number}`, since: before(number), count: number + 1 }
      return { ...row, state: 'failing', count: number + 1, oldestDueAt: before(50), failure } as const
    })
    const { problems } = overviewOf({ ...well, work })
    expect(problems).toHaveLength(101)
    expect(problems[0]).toMatchObject({ subject: 'group-149', count: 150 })
    expect(problems.at(-1)).toEqual({
      code: 'work-failing',
      severity: 'warning',
      subject: otherGroup,
      since: instant(49),
      count: 1_275,
      page: '/console/work',
      runbook: 'docs/operating.md#work-failing',
    })
  })
})
