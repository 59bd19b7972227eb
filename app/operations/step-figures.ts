import type { Pool } from '../../platform/database/database.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import type { Metrics } from '../../platform/observability/metrics.ts'
import { processes } from '../../processes/registry.ts'
import { repeat, type Repeating } from './repeating.ts'
import { countWork, type WorkCounts } from './work.ts'

/** In milliseconds. Counting reads every row of work, so a scrape does not do it. */
const countEveryMs = 15_000

interface StepFigure {
  readonly labels: { readonly process: string; readonly step: string; readonly state: string }
  readonly count: number
  readonly oldestSeconds: number
}

/** Counts the work of all processors in each of them, so dashboards take `max`, not `sum`. */
export function countSteps(options: {
  readonly pool: Pool
  readonly metrics: Metrics
  readonly logger: Logger
  readonly now: () => Date
  readonly everyMs?: number
}): Repeating {
  const { pool, metrics, logger, now, everyMs = countEveryMs } = options
  let figures: readonly StepFigure[] = []
  metrics.register({
    name: 'step_count',
    help: 'Work of all processes. Every processor counts all of it.',
    labels: ['process', 'step', 'state'],
    read: () => figures.map(({ labels, count }) => ({ labels, value: count })),
  })
  metrics.register({
    name: 'step_oldest_seconds',
    help: 'How long the oldest of this work has been due.',
    labels: ['process', 'step', 'state'],
    read: () => figures.map(({ labels, oldestSeconds }) => ({ labels, value: oldestSeconds })),
  })
  const count = async (): Promise<void> => {
    // Without the database there are no figures, rather than old ones.
    const counts = await countWork(pool).catch((error: unknown) => {
      figures = []
      throw error
    })
    figures = figuresOf(counts, now())
  }
  return repeat({ everyMs, work: count, logger, component: 'step figures' })
}

/** Labels come from the program only. */
const known = new Set(processes.flatMap(({ name, steps }) => Object.keys(steps).map((step) => `${name}.${step}`)))

export function figuresOf(counts: readonly WorkCounts[], at: Date): readonly StepFigure[] {
  const figures = new Map<string, StepFigure>()
  for (const { process, step, state, count, oldestDueAt } of counts) {
    if (!known.has(`${process}.${step}`)) continue
    const labels = { process, step, state }
    const key = `${process}.${step} ${state}`
    const before = figures.get(key)
    const seconds = Math.max(0, (at.getTime() - oldestDueAt.getTime()) / 1_000)
    figures.set(key, {
      labels,
      count: (before?.count ?? 0) + count,
      oldestSeconds: Math.max(before?.oldestSeconds ?? 0, seconds),
    })
  }
  return [...figures.values()]
}
