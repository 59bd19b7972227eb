import type { Benchmark } from '../harness/benchmark.ts'
import { atMost, single } from '../harness/compare.ts'
import { withScope } from '../harness/scope.ts'
import { fillOf, filled } from './filling.ts'
import { startLogProcess, type FillJob } from './jobs.ts'
import { writeMainJobs, type Written } from './log.ts'
import { startWorld, type World } from './world.ts'

const models = ['assessments']

/**
 * The smallest log that shows the memory for longer logs. V8 collects its old space only when garbage has grown to
 * about three times the live data. A filling reaches that after 200,000 to 300,000 events. A shorter one ends before
 * any collection.
 */
const eventsToFullHeap = 400_000

/** A log whose first part is a fraction of the whole, with a fill job for each. */
interface GrownLog {
  readonly part: { readonly job: FillJob; readonly written: Written }
  readonly whole: { readonly job: FillJob; readonly written: Written }
}

/** Shows whether the time of a rebuild is proportional to the length of the log. */
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

/** Shows whether a rebuild of a longer log needs more memory. */
export const rebuildMemory: Benchmark = {
  name: 'rebuild-memory',
  goals: ['10'],
  about: 'most memory of a process that fills a read model from five times the events',
  run: async ({ quick, events: asked }, { compare }) => {
    await withScope(async ({ folder, started }) => {
      const world = await started(startWorld(folder))
      const { part, whole } = await grownLog(world, asked ?? (quick ? 20_000 : 5 * eventsToFullHeap), 5)
      // Each measurement uses a new process, because a process does not give memory back.
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
          // The logs of the quick form are too short for a tighter goal.
          goal: atMost(1.05, { reached: 1.5 }),
        }),
        // Each process fills for the first time, so there is no warm-up.
        rounds: 3,
      })
    })
  },
}

/** The two parts are written one after the other. The first part then ends with a complete job. */
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
