/** Who asks a platform something, all the time. */
export type CallerName = 'write: assessment' | 'write: patient' | 'read: record' | 'read: list' | 'token'

/** One answer as its caller saw it. */
export interface Outcome {
  readonly caller: CallerName
  /** `202`, `503 database-unavailable`; `none: …` where there was no answer. */
  readonly answer: string
  readonly ms: number
  /** What is wrong about it; undefined when the documentation allows it. */
  readonly wrong: string | undefined
}

/** What was seen of a fault. */
export interface Observation {
  readonly fault: string
  readonly seconds: number
  readonly outcomes: readonly Outcome[]
  /** Assessments that were acknowledged, all of which ended as they should unless `wrong` says otherwise. */
  readonly acknowledged: number
  /** How often the subscriber of the public channel lost its connection, and the longest it took to be up to date afterwards. */
  readonly subscriber: { readonly drops: number; readonly events: number }
  /** Health checks that failed meanwhile. */
  readonly health: readonly string[]
  /** From the begin of the fault to the first health answer that shows it, and from its end to the first without it; in ms. */
  readonly shownMs: number | undefined
  readonly clearedMs: number
  readonly wrong: readonly string[]
}

/** Counts of each answer, and the longest wait for one, as a line of a table. */
export function summaryOf(outcomes: readonly Outcome[], caller: CallerName): string {
  const own = outcomes.filter((outcome) => outcome.caller === caller)
  const counts = [...Map.groupBy(own, ({ answer }) => answer)].map(([answer, same]) => `${same.length} × ${answer}`)
  const longest = Math.max(0, ...own.map(({ ms }) => ms))
  return own.length === 0 ? 'not asked' : `${counts.toSorted().join(', ')}; longest ${(longest / 1000).toFixed(1)} s`
}
