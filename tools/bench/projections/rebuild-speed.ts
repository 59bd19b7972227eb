import { join } from 'node:path'
import type { Benchmark } from '../harness/benchmark.ts'
import { atLeast, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { writeConsentRows } from './consent-rows.ts'
import { fillOf, filled, rateOf } from './filling.ts'
import { startLogProcess } from './jobs.ts'
import { endOf, writeDecisions, writeMainJobs } from './log.ts'
import { startWorld } from './world.ts'

/** Compares filling a read model with only reading its log, and with only writing its rows. */
export const rebuildSpeed: Benchmark = {
  name: 'rebuild',
  goals: ['6'],
  about: 'filling a read model over a bare readAll of the same events, and over a bare COPY of its rows',
  run: async ({ quick, events: asked }, { compare }) => {
    const events = asked ?? (quick ? 10_000 : 200_000)
    await withScope(async ({ folder, started }) => {
      const world = await started(startWorld(join(folder, 'main-job')))
      const written = await writeMainJobs(world.store, { events })
      const filler = await started(startLogProcess())
      const reader = await started(startLogProcess())
      const { eventStoreUrl } = world.addresses
      for (const model of ['assessments', 'ai_reviews']) {
        const job = await fillOf(world, [model])
        const read = { kind: 'read', eventStoreUrl, upTo: job.upTo } as const
        await compare(
          single({
            goalNumber: '6',
            name: `\`${model}\` of ${written.events.toLocaleString('en')} events of the main job`,
            unit: 'events per second',
            ours: { name: 'filling', measure: async () => rateOf(await filled(filler, job, written), written.events) },
            other: { name: '`readAll`', measure: async () => rateOf(await reader.run(read), written.events) },
            goal: atLeast(0.75),
          }),
        )
      }
    })
    await withScope(async ({ folder, started }) => {
      const world = await started(startWorld(join(folder, 'decisions')))
      const written = await writeDecisions(world.store, { events: events / 2 })
      const filler = await started(startLogProcess())
      const copier = await started(startLogProcess())
      const job = await fillOf(world, ['consent_records'])
      const file = join(folder, 'rows')
      const table = await writeConsentRows(world, await endOf(world.store), file)
      const copy = { kind: 'copy', databaseUrl: world.addresses.databaseUrl, table, file } as const
      await compare(
        single({
          goalNumber: '6',
          name: `\`consent_records\`, a row for each of ${written.events.toLocaleString('en')} events`,
          unit: 'rows per second',
          ours: { name: 'filling', measure: async () => rateOf(await filled(filler, job, written), written.events) },
          other: { name: '`COPY`', measure: async () => rateOf(await copier.run(copy), written.events) },
          goal: atLeast(0.45, { reached: 0.25 }),
        }),
      )
    })
  },
}
