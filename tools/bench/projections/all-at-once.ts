import type { Benchmark } from '../harness/benchmark.ts'
import { atMost, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { allModels, filled, fillOf } from './filling.ts'
import { startLogProcess } from './jobs.ts'
import { writeMainJobs } from './log.ts'
import { startWorld } from './world.ts'

/** Compares filling all read models in one shared reading of the log with filling the slowest one alone. */
export const rebuildAll: Benchmark = {
  name: 'rebuild-all',
  goals: ['8'],
  about: 'all read models filled in one pass over the slowest of them alone',
  run: async ({ quick, events: asked }, { compare }) => {
    await withScope(async ({ folder, started }) => {
      const world = await started(startWorld(folder))
      const written = await writeMainJobs(world.store, { events: asked ?? (quick ? 10_000 : 200_000) })
      const filler = await started(startLogProcess())
      const time = async (models: readonly string[]): Promise<number> =>
        (await filled(filler, await fillOf(world, models), written)).milliseconds
      const alone = new Map<string, number>()
      for (const model of allModels) alone.set(model, await time([model]))
      const [slowest] = [...alone].toSorted(([, a], [, b]) => b - a)
      if (slowest === undefined) throw new Error('there is no read model')
      await compare(
        single({
          goalNumber: '8',
          name: `all ${allModels.length} read models of ${written.events.toLocaleString('en')} events`,
          unit: 'ms',
          ours: { name: 'in one pass', measure: () => time(allModels) },
          other: { name: `\`${slowest[0]}\` alone`, measure: () => time([slowest[0]]) },
          goal: atMost(2.5),
        }),
      )
    })
  },
}
