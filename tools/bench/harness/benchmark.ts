import type { Comparison } from './compare.ts'

export interface BenchSettings {
  /** Small sizes. The run takes seconds and shows whether everything works and no figure is far off. */
  readonly quick: boolean
  /** Counted rounds of each comparison. */
  readonly rounds: number
  /** Size of the log for benchmarks that can choose one. Undefined keeps their default. */
  readonly events: number | undefined
  /** A fresh real EventStoreDB for comparison, from `ESDB_URL`. Undefined without one. */
  readonly realUrl: string | undefined
}

/** Receives the results of a benchmark. */
export interface Measuring {
  /** Measures both sides in turn. Each figure becomes a row of the table. */
  readonly compare: (comparison: Comparison) => Promise<void>
  /** Adds a row with the reason why this machine cannot measure something. */
  readonly notRun: (row: { readonly goal: string; readonly name: string; readonly why: string }) => void
}

/** A benchmark is a file below `tools/bench/` and a line in `registry.ts`. */
export interface Benchmark {
  /** Name on the command line. */
  readonly name: string
  /** Numbers of its goals in `docs/performance.md`. */
  readonly goals: readonly string[]
  /** One line for `--list`. */
  readonly about: string
  /** Starts everything it needs and passes its comparisons one by one. It always leaves nothing running. */
  readonly run: (settings: BenchSettings, measuring: Measuring) => Promise<void>
}
