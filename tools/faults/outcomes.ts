/** The callers, each with its kind of request. */
export type CallerName = 'write: assessment' | 'write: patient' | 'read: record' | 'read: list' | 'token'

/** One answer that a caller received. */
export interface Outcome {
  readonly caller: CallerName
  /** For example `202` or `503 database-unavailable`. `none: …` without an answer. */
  readonly answer: string
  readonly ms: number
  /** The violation in this answer. Undefined when the documentation allows it. */
  readonly wrong: string | undefined
}

/** The results of one fault. */
export interface Observation {
  readonly fault: string
  readonly seconds: number
  readonly outcomes: readonly Outcome[]
  /** Number of acknowledged assessments. All of them ended as documented unless `wrong` lists one. */
  readonly acknowledged: number
  /** Lost connections of the subscriber to the public channel, and the number of its events. */
  readonly subscriber: { readonly drops: number; readonly events: number }
  /** Health checks that failed during the fault. */
  readonly health: readonly string[]
  /**
   * Milliseconds from the start of the fault to the first health answer with it, and from its end to the first without
   * it.
   */
  readonly shownMs: number | undefined
  readonly clearedMs: number
  readonly wrong: readonly string[]
}

/** A cell of the report: counts of each answer, and the longest wait. */
export function summaryOf(outcomes: readonly Outcome[], caller: CallerName): string {
  const own = outcomes.filter((outcome) => outcome.caller === caller)
  const counts = [...Map.groupBy(own, ({ answer }) => answer)].map(([answer, same]) => `${same.length} × ${answer}`)
  const longest = Math.max(0, ...own.map(({ ms }) => ms))
  return own.length === 0 ? 'not asked' : `${counts.toSorted().join(', ')}; longest ${(longest / 1000).toFixed(1)} s`
}
