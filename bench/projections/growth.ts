import type { Benchmark } from '../harness/benchmark.ts'
import { atMost, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { fillOf, filled } from './filling.ts'
import { startLogProcess, type FillJob } from './jobs.ts'
import { writeMainJobs, type Written } from './log.ts'
import { startWorld, type World } from './world.ts'

const models = ['assessments']

/**
 * A shorter log tells nothing of a longer one's memory: V8 lets what is to be collected grow to some three times what lives
 * before it collects its old space, which takes a filling 200,000 to 300,000 events; no collection lies behind it earlier.
 */
const eventsToFullHeap = 400_000

/** A log of which the first part is a share of the whole, and how to fill from either. */
interface GrownLog {
  readonly part: { readonly job: FillJob; readonly written: Written }
  readonly whole: { readonly job: FillJob; readonly written: Written }
}

/** Whether a rebuild of a longer log takes time in proportion. */
export const rebuildTime: Benchmark = {
  name: 'rebuild-time',
  goals: ['11'],
  about: 'time of filling a read model from four times the events',
  run: async ({ quick, events: asked }, { compare }) => {
    await withScope(async ({ folder, started }) => {
      const world = await started(startWorld(folder))
      const { part, whole } = await grownLog(world, asked ?? (quick ? 20_000 : 400_000), 4)
      const filler = await started(startLogProcess())
      await compare(
        single({
          goalNumber: '11',
          name: `filling \`${models.join()}\` from ${whole.written.events.toLocaleString('en')} events`,
          unit: 'ms',
          ours: {
            name: 'whole log',
            measure: async () => (await filled(filler, whole.job, whole.written)).milliseconds,
          },
          other: {
            name: 'its first quarter',
            measure: async () => (await filled(filler, part.job, part.written)).milliseconds,
          },
          goal: { kind: 'between', least: 3.8, most: 4.3 },
        }),
      )
    })
  },
}

/** Whether a rebuild of a longer log takes more memory. */
export const rebuildMemory: Benchmark = {
  name: 'rebuild-memory',
  goals: ['10'],
  about: 'most memory of a process that fills a read model from five times the events',
  run: async ({ quick, events: asked }, { compare }) => {
    await withScope(async ({ folder, started }) => {
      const world = await started(startWorld(folder))
      const { part, whole } = await grownLog(world, asked ?? (quick ? 20_000 : 5 * eventsToFullHeap), 5)
      // A process of its own each time: what one has held once it does not give back.
      const peak = async ({ job, written }: GrownLog['part']): Promise<number> => {
        const filler = await startLogProcess()
        try {
          return (await filled(filler, job, written)).peakBytes / 1_048_576
        } finally {
          await filler.stop()
        }
      }
      await compare({
        ...single({
          goalNumber: '10',
          name: `most memory while filling \`${models.join()}\` from ${whole.written.events.toLocaleString('en')} events`,
          unit: 'MiB',
          ours: { name: 'whole log', measure: () => peak(whole) },
          other: { name: 'its first fifth', measure: () => peak(part) },
          // The quick form's logs are too short to be held to more.
          goal: atMost(1.05, { reached: 1.5 }),
        }),
        // Each is a process that fills for the first time: there is nothing to warm up.
        rounds: 3,
      })
    })
  },
}

/** The parts are written one after the other, so that whole jobs end where the first part does. */
async function grownLog(world: World, events: number, factor: number): Promise<GrownLog> {
  const first = await writeMainJobs(world.store, { events: events / factor })
  const partJob = await fillOf(world, models)
  const rest = await writeMainJobs(world.store, { events: first.events * (factor - 1) })
  const wholeJob = await fillOf(world, models)
  return { part: { job: partJob, written: first }, whole: { job: wholeJob, written: together(first, rest) } }
}

function together(first: Written, rest: Written): Written {
  const byType = new Map([...first.byType].map(([type, count]) => [type, count + (rest.byType.get(type) ?? 0)]))
  return { events: first.events + rest.events, byType, assessmentIds: [...first.assessmentIds, ...rest.assessmentIds] }
}
