import type { Seen } from '../../../app/operations/overview.ts'

const at = new Date('2030-01-01T00:10:00.000Z')
export const before = (seconds: number): Date => new Date(at.getTime() - seconds * 1_000)

export const runningProcess = {
  id: '0190b0a0-0000-7000-8000-000000000001',
  roles: ['api', 'projector', 'processor'],
  version: '1.0.0',
  profile: 'production',
  startedAt: before(600),
  seenAt: before(1),
  status: 'running',
  checks: [],
  relays: [],
} as const

export const usedSystem = { lastSuccessAt: null, failingSince: null, failures: 0, error: null, status: 'ok' } as const

/** An installation without a problem. */
export const seenWell: Seen = {
  at,
  processes: [runningProcess],
  systems: [{ name: 'provider', ...usedSystem }],
  work: [],
  projectors: [],
  disabled: [],
  rates: [],
  seal: null,
}

const check = (name: string) => ({ name, status: 'warning', detail: null, since: before(30).toISOString() }) as const
const work = { kind: 'step', process: 'assessments', step: 'expire', count: 1, failure: null } as const

/** An installation with each problem. */
export const seenWithProblems: Seen = {
  ...seenWell,
  processes: [
    {
      ...runningProcess,
      roles: ['api', 'projector'],
      checks: [check('database'), check('calls-held'), check('sealed_log')],
      relays: [{ channel: 'consent.events', state: 'blocked', position: null, moved_at: before(30).toISOString() }],
    },
    { ...runningProcess, id: 'a', roles: ['processor'], status: 'silent' },
    { ...runningProcess, id: 'b', roles: ['processor'], status: 'silent' },
  ],
  systems: [{ name: 'mail', ...usedSystem, status: 'failing', failures: 3 }],
  work: [
    { ...work, state: 'failing', oldestDueAt: before(50), failure: { groupId: 'group', since: before(40), count: 2 } },
    { ...work, state: 'due', oldestDueAt: before(61) },
    { ...work, state: 'parked', oldestDueAt: before(61) },
    { ...work, step: 'a name', state: 'due', oldestDueAt: before(61) },
  ],
  projectors: [
    { name: 'patients', isFailed: true, events: 3, idleSeconds: 60 },
    { name: 'cases', isFailed: false, events: 9, idleSeconds: 12 },
  ],
  disabled: [{ id: 'endpoint', since: before(3_600) }],
  seal: {
    size: 1,
    position: '7/7',
    sealed_at: before(700).toISOString(),
    lag_seconds: 700,
    witnesses: [],
    last_verification: null,
  },
}
