import type { OperationsProblem } from '../../contracts/operations/record.ts'
import { checkStates } from '../../platform/observability/health.ts'
import type { Logger } from '../../platform/observability/logging.ts'
import { stateSamples, type Metrics } from '../../platform/observability/metrics.ts'
import { processes } from '../../processes/registry.ts'
import { overviewOf, type Seen } from './overview.ts'
import { repeat, type Repeating } from './repeating.ts'
import type { WorkCounts } from './work.ts'

/** In milliseconds. Counting reads every row of work, so a scrape does not do it. */
const readEveryMs = 15_000

interface StepFigure {
  readonly labels: { readonly process: string; readonly step: string; readonly state: string }
  readonly count: number
  readonly oldestSeconds: number
}

interface Figures {
  readonly status: string
  readonly problems: readonly ProblemFigure[]
  readonly steps: readonly StepFigure[]
  readonly sealLagSeconds: number | undefined
}

interface ProblemFigure {
  readonly labels: { readonly code: string; readonly severity: string; readonly subject?: string }
  readonly count: number
}

/**
 * Figures of the whole installation, from what the overview is made of. Each process that shows them shows all of them,
 * so the figures of a process that has died are not missed, and dashboards take `max`, not `sum`.
 */
export function showFigures(options: {
  readonly read: () => Promise<Seen>
  readonly metrics: Metrics
  /** Of work only processors show the figures. */
  readonly showsSteps: boolean
  readonly logger: Logger
  readonly everyMs?: number
}): Repeating {
  const { read, metrics, showsSteps, logger, everyMs = readEveryMs } = options
  let figures: Figures | undefined
  metrics.register({
    name: 'operations_status',
    help: 'The status of the installation. 1 for the present one, 0 for the others. None while it cannot be read.',
    labels: ['state'],
    read: () => (figures === undefined ? [] : stateSamples(checkStates, figures.status, {})),
  })
  metrics.register({
    name: 'operations_problems',
    help: 'Present problems of the installation.',
    labels: ['code', 'severity', 'subject'],
    read: () => figures?.problems.map(({ labels, count }) => ({ labels, value: count })) ?? [],
  })
  metrics.register({
    name: 'seal_lag_seconds',
    help: 'Since the newest seal of the log, while events follow it.',
    labels: [],
    read: () => (figures?.sealLagSeconds === undefined ? [] : [{ labels: {}, value: figures.sealLagSeconds }]),
  })
  if (showsSteps) {
    metrics.register({
      name: 'step_count',
      help: 'Work of all processes. Every processor counts all of it.',
      labels: ['process', 'step', 'state'],
      read: () => figures?.steps.map(({ labels, count }) => ({ labels, value: count })) ?? [],
    })
    metrics.register({
      name: 'step_oldest_seconds',
      help: 'How long the oldest of this work has been due.',
      labels: ['process', 'step', 'state'],
      read: () => figures?.steps.map(({ labels, oldestSeconds }) => ({ labels, value: oldestSeconds })) ?? [],
    })
  }
  const renew = async (): Promise<void> => {
    try {
      figures = figuresOf(await read())
    } catch (error) {
      // Without the database there are no figures, rather than old ones.
      figures = undefined
      throw error
    }
  }
  return repeat({ everyMs, work: renew, logger, component: 'figures' })
}

/** Labels come from the program only. */
const known = new Set(processes.flatMap(({ name, steps }) => Object.keys(steps).map((step) => `${name}.${step}`)))
/** The subject of these is an id of a record or of a process. */
const aboutIds: ReadonlySet<string> = new Set<OperationsProblem['code']>([
  'process-silent',
  'work-failing',
  'endpoint-disabled',
])

export function figuresOf(seen: Seen): Figures {
  const { status, problems } = overviewOf(seen)
  return {
    status,
    problems: problemFigures(problems),
    steps: stepFigures(seen.work, seen.at),
    sealLagSeconds: seen.seal?.lag_seconds,
  }
}

function problemFigures(problems: readonly OperationsProblem[]): readonly ProblemFigure[] {
  const figures = new Map<string, ProblemFigure>()
  for (const { code, severity, subject } of problems) {
    const isNamed = !aboutIds.has(code) && (code !== 'work-late' || known.has(subject))
    const labels = { code, severity, ...(isNamed ? { subject } : {}) }
    const key = JSON.stringify(labels)
    figures.set(key, { labels, count: (figures.get(key)?.count ?? 0) + 1 })
  }
  return [...figures.values()]
}

function stepFigures(counts: readonly WorkCounts[], at: Date): readonly StepFigure[] {
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
