import { join } from 'node:path'
import { projectedStreams } from '../../../app/projections/projected-streams.ts'
import { readModels } from '../../../projections/registry.ts'
import { startOfLog } from '../../../platform/kit/positions.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { startBenchPlatform, type BenchPlatform } from '../load/platform.ts'
import { startDriver } from '../load/start-driver.ts'
import { assessmentRequests, inFlight } from './assessments.ts'

const name = `POST /assessments, ${inFlight} in flight`

/** Compares the same platform on an EventStoreDB and on the embedded node. */
export const onRealEventStore: Benchmark = {
  name: 'real-event-store',
  goals: ['5b'],
  about:
    'the platform on a real EventStoreDB over the platform on the embedded node: POST → 202, reading for a rebuild',
  run: async ({ quick, realUrl }, { compare, notRun }) => {
    if (realUrl === undefined) {
      notRun({
        goal: '5b',
        name: 'the platform on EventStoreDB over the platform on the embedded node',
        why: 'ESDB_URL is not set',
      })
      return
    }
    const count = quick ? 1_000 : 10_000
    await withScope(async ({ folder, started }) => {
      const onReal = await started(
        startBenchPlatform({ folder: join(folder, 'real'), roles: ['api'], eventStoreUrl: realUrl }),
      )
      const onNode = await started(startBenchPlatform({ folder: join(folder, 'node'), roles: ['api'] }))
      const driver = await started(startDriver())
      const real = await assessmentRequests(onReal, count)
      const node = await assessmentRequests(onNode, count)
      await compare(
        single({
          goalNumber: '5b',
          name,
          unit: 'per second',
          ours: { name: 'on EventStoreDB', measure: async () => (await driver.run(real)).perSecond },
          other: { name: 'on the embedded node', measure: async () => (await driver.run(node)).perSecond },
          goal: { kind: 'none' },
        }),
      )
      await compare(
        single({
          goalNumber: '5b',
          name: 'reading the log as a rebuild of all read models reads it',
          unit: 'events per second',
          ours: { name: 'on EventStoreDB', measure: () => readForRebuild(onReal) },
          other: { name: 'on the embedded node', measure: () => readForRebuild(onNode) },
          goal: { kind: 'none' },
        }),
      )
    })
  },
}

/** Both logs contain the same kinds of events. Each rate counts its own events. */
async function readForRebuild({ store }: BenchPlatform): Promise<number> {
  const filter = { streamPrefixes: projectedStreams }
  const handled = new Set(readModels.flatMap(({ handlers }) => Object.keys(handlers)))
  const started = performance.now()
  let decoded = 0
  for await (const batch of store.readLog({
    filter,
    after: startOfLog,
    upTo: await store.head(filter),
    wants: (type) => handled.has(type),
    batchSize: 5_000,
  })) {
    decoded += batch.events.length
  }
  const taken = performance.now() - started
  if (decoded < inFlight) throw new Error(`a log of requests contains ${decoded} events`)
  return (decoded * 1000) / taken
}
