import type { Comparison } from './compare.ts'

export interface BenchSettings {
  /** Small sizes: whether everything works and nothing is far off, within seconds. */
  readonly quick: boolean
  /** Rounds that count, of each comparison. */
  readonly rounds: number
  /** Size of the log where a benchmark has one to choose; undefined for its own choice. */
  readonly events: number | undefined
  /** A fresh real EventStoreDB to compare with, from `ESDB_URL`; undefined where there is none. */
  readonly realUrl: string | undefined
}

/** Where a benchmark puts what it measures. */
export interface Measuring {
  /** Measures both sides in turn; each figure becomes a row of the table. */
  readonly compare: (comparison: Comparison) => Promise<void>
  /** A row that says why there is nothing to show, for what this machine lacks. */
  readonly notRun: (row: { readonly goal: string; readonly name: string; readonly why: string }) => void
}

/** One file under `bench/`, and a line in `registry.ts`. */
export interface Benchmark {
  /** What the command line calls it. */
  readonly name: string
  /** Numbers of its goals in `docs/performance.md`. */
  readonly goals: readonly string[]
  /** One line for `--list`. */
  readonly about: string
  /** Starts all it needs, hands its comparisons over one by one, and leaves nothing running, whatever happens. */
  readonly run: (settings: BenchSettings, measuring: Measuring) => Promise<void>
}
