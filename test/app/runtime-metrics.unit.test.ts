import { expect, it } from 'vitest'
import { addRuntimeMetrics } from '../../app/runtime-metrics.ts'
import { createHealth } from '../../platform/observability/health.ts'
import { createMetrics } from '../../platform/observability/metrics.ts'
import { linesOf, seriesIn } from '../platform/observability/figures.ts'

const at = (commit: bigint) => ({ commit, prepare: commit })
const projector = { version: 1, failure: undefined }
const relay = { published: 0, blockedBy: undefined }

it('shows the state of each projector and relay, and the position of each projector that is not on standby', async () => {
  const metrics = createMetrics({ health: createHealth({ profile: 'development' }) })
  const relays = [
    { ...relay, channel: 'users.events', state: 'blocked', position: at(70n) } as const,
    { ...relay, channel: 'consent.events', state: 'standby', position: at(20n) } as const,
  ]
  addRuntimeMetrics(metrics, {
    attendance: async () => [
      { name: 'patients', hasProcess: true, hasFailed: false },
      { name: 'cases', hasProcess: false, hasFailed: true },
    ],
    runner: {
      status: () => [
        { ...projector, name: 'patients', state: 'live', position: at(90n) },
        { ...projector, name: 'cases', state: 'failed', position: at(10n) },
        { ...projector, name: 'images', state: 'standby', position: at(5n) },
        { ...projector, name: 'consents', state: 'catching-up', position: undefined },
      ],
    },
    relays: relays.map((status) => ({ status: () => status })),
  })
  const text = await metrics.text()
  expect(linesOf(text, 'projector_has_process')).toEqual([
    'projector_has_process{projector="patients"} 1',
    'projector_has_process{projector="cases"} 0',
  ])
  expect(linesOf(text, 'projector_position')).toEqual([
    'projector_position{projector="patients"} 90',
    'projector_position{projector="cases"} 10',
  ])
  const present = (name: string) => linesOf(text, name).filter((line) => line.endsWith(' 1'))
  expect(present('projector_state')).toEqual([
    'projector_state{projector="patients",state="live"} 1',
    'projector_state{projector="cases",state="failed"} 1',
    'projector_state{projector="images",state="standby"} 1',
    'projector_state{projector="consents",state="catching-up"} 1',
  ])
  expect(linesOf(text, 'projector_state')).toHaveLength(4 * 5)
  expect(present('relay_state')).toEqual([
    'relay_state{channel="users.events",state="blocked"} 1',
    'relay_state{channel="consent.events",state="standby"} 1',
  ])
})

it('shows neither where none runs, and no attendance while the database is away', async () => {
  const metrics = createMetrics({ health: createHealth({ profile: 'development' }) })
  const attendance = () => Promise.reject(new Error('connect ECONNREFUSED'))
  addRuntimeMetrics(metrics, { attendance, runner: undefined, relays: [] })
  expect(seriesIn(await metrics.text()).filter((series) => /projector|relay/.test(series))).toEqual([])
})
