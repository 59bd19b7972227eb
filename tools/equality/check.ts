import * as fc from 'fast-check'
import type { Projector } from '../../engine/projections/projector.ts'
import { processes } from '../../processes/registry.ts'
import { readModels } from '../../projections/registry.ts'
import { courses } from './disturbances.ts'
import { histories } from './histories.ts'
import { Lane, type Figures } from './lane.ts'

/** Every projector of the platform: those of the read models, and those of the processes' to-do lists. */
export const allProjectors: readonly Projector[] = [...readModels, ...processes.map(({ list }) => list)]

export interface EqualityOptions {
  readonly databaseUrl: string
  readonly projectors?: readonly Projector[]
  readonly cases: number
  readonly seed: number
  /** Number of parallel lanes, default 4. Each lane has its own read models and seed: `seed`, `seed` + 1 and so on. */
  readonly lanes?: number
  /** The printed path of a failure. Only that case runs, with the seed that was printed beside the path. */
  readonly path?: string
  readonly mostMoves?: number
  readonly onCase?: (figures: Figures) => void
}

export interface EqualityResult extends Figures {
  /** Texts with the seed and the path that repeat a failure. Empty when all cases were equal. */
  readonly failures: readonly string[]
}

/** R2: live read models equal a rebuild from the log, whatever happened to the runner. */
export async function checkEquality(options: EqualityOptions): Promise<EqualityResult> {
  const { databaseUrl, projectors = allProjectors, cases, seed, path, mostMoves = 60, onCase } = options
  const count = path === undefined ? Math.min(options.lanes ?? 4, cases) : 1
  const figures: Figures = {
    cases: 0,
    events: 0,
    disturbances: { none: 0, cut: 0, kill: 0, restart: 0, break: 0, stop: 0 },
  }
  const failures: string[] = []
  const runLane = async (number: number): Promise<void> => {
    const lane = await Lane.open(databaseUrl, projectors, number, figures)
    try {
      const property = fc.asyncProperty(
        histories(mostMoves),
        courses,
        fc.constantFrom(1, 7, 50, 10_000),
        async (moves, course, rebuildSize) => {
          const difference = await lane.run(moves, course, rebuildSize)
          onCase?.(figures)
          if (difference !== undefined) throw new Error(difference)
        },
      )
      const numRuns = Math.floor(cases / count) + (number < cases % count ? 1 : 0)
      const result = await fc.check(property, { seed: seed + number, numRuns, ...(path === undefined ? {} : { path }) })
      if (result.failed) failures.push(inWords(result))
    } finally {
      await lane.close()
    }
  }
  await Promise.all(Array.from({ length: count }, (_, number) => runLane(number)))
  return { ...figures, failures }
}

function inWords<Case>({
  seed,
  counterexamplePath,
  counterexample,
  errorInstance,
  numShrinks,
}: fc.RunDetails<Case>): string {
  const why = errorInstance instanceof Error ? errorInstance.message : String(errorInstance)
  const repeat = `--seed ${seed} --path ${counterexamplePath ?? ''}`
  return `${repeat} (made smaller ${numShrinks} times)\n${why}\nof ${JSON.stringify(counterexample)}`
}
