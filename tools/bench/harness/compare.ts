/**
 * Figures of a side (rates or times), in the order of the comparison's `figures`. Rejects when the measured work has a
 * wrong result.
 */
type Measure = () => Promise<readonly number[]>

interface Side {
  readonly name: string
  readonly measure: Measure
}

/** The required ratio of ours to the other. */
export type Goal =
  /**
   * `reached` is the present ratio when `docs/performance.md` explains why the goal is missed. The quick form then uses
   * it instead of the goal.
   */
  | { readonly kind: 'at-least' | 'at-most'; readonly ratio: number; readonly reached?: number }
  | { readonly kind: 'between'; readonly least: number; readonly most: number }
  | { readonly kind: 'none' }

interface Figure {
  readonly name: string
  readonly unit: string
  readonly goal: Goal
}

export interface Comparison {
  /** Number of the goal in `docs/performance.md`. */
  readonly goal: string
  /** The results of one measurement of a side. */
  readonly figures: readonly Figure[]
  readonly ours: Side
  readonly other: Side
  /** For measurements that take minutes: fewer rounds than requested, and no warm-up round. */
  readonly rounds?: number
}

export interface Outcome {
  readonly goalNumber: string
  readonly name: string
  readonly unit: string
  readonly ours: { readonly name: string; readonly median: number }
  readonly other: { readonly name: string; readonly median: number }
  /** Median of the rounds' ratios, and its interquartile range relative to the median. One round has no spread: NaN. */
  readonly ratio: number
  readonly spread: number
  readonly goal: Goal
  readonly verdict: 'holds' | 'falls short' | 'no result' | 'shown'
}

/** A comparison of one figure. */
export interface SingleComparison extends Figure {
  readonly goalNumber: string
  readonly ours: { readonly name: string; readonly measure: () => Promise<number> }
  readonly other: { readonly name: string; readonly measure: () => Promise<number> }
}

export function single({ goalNumber, ours, other, ...figure }: SingleComparison): Comparison {
  const alone = ({ name, measure }: SingleComparison['ours']): Side => ({
    name,
    measure: async () => [await measure()],
  })
  return { goal: goalNumber, figures: [figure], ours: alone(ours), other: alone(other) }
}

export const atLeast = (ratio: number, instead: { readonly reached?: number } = {}): Goal => ({
  kind: 'at-least',
  ratio,
  ...instead,
})
export const atMost = (ratio: number, instead: { readonly reached?: number } = {}): Goal => ({
  kind: 'at-most',
  ratio,
  ...instead,
})

/** A wider spread is no result: other programs used the machine during the measurement. */
const widestSpread = 0.15
/** A ratio below this fraction of its goal (or of `reached`) means a fault. A busy machine does not explain it. */
const farOffFraction = 0.6

/**
 * Measures both sides in turn. The sides alternate in going first. The first round does not count, unless one round was
 * requested: that shows whether the measurement works, and is no result.
 */
export async function compare(comparison: Comparison, rounds: number): Promise<readonly Outcome[]> {
  const { figures, ours, other } = comparison
  const counted = Math.min(rounds, comparison.rounds ?? rounds)
  const warmUps = rounds > 1 && comparison.rounds === undefined ? 1 : 0
  const seen: { ours: readonly number[]; other: readonly number[] }[] = []
  for (let round = 0; round < warmUps + counted; round += 1) {
    const oursFirst = round % 2 === 0 ? await ours.measure() : undefined
    const others = await other.measure()
    const figuresOfRound = { ours: oursFirst ?? (await ours.measure()), other: others }
    if (round >= warmUps) seen.push(figuresOfRound)
  }
  return figures.map((figure, index) => {
    const pairs = seen.map((round) => ({ ours: round.ours[index] ?? NaN, other: round.other[index] ?? NaN }))
    return outcomeOf(comparison, figure, pairs)
  })
}

/** Whether a ratio is so far from its goal that a busy machine does not explain it. */
export function isFarOff({ ratio, goal }: Pick<Outcome, 'ratio' | 'goal'>): boolean {
  if (goal.kind === 'none') return false
  const least =
    goal.kind === 'between'
      ? goal.least
      : goal.kind === 'at-least'
        ? Math.min(goal.reached ?? goal.ratio, goal.ratio)
        : 0
  const most =
    goal.kind === 'between'
      ? goal.most
      : goal.kind === 'at-most'
        ? Math.max(goal.reached ?? goal.ratio, goal.ratio)
        : Infinity
  return !(ratio >= least * farOffFraction && ratio <= most / farOffFraction)
}

function outcomeOf(
  { goal: goalNumber, ours, other }: Comparison,
  figure: Figure,
  pairs: readonly { ours: number; other: number }[],
): Outcome {
  const ratios = pairs.map((pair) => pair.ours / pair.other)
  const ratio = median(ratios)
  return {
    goalNumber,
    name: figure.name,
    unit: figure.unit,
    ours: { name: ours.name, median: median(pairs.map((pair) => pair.ours)) },
    other: { name: other.name, median: median(pairs.map((pair) => pair.other)) },
    ratio,
    spread: spread(ratios),
    goal: figure.goal,
    verdict: verdictOf(figure.goal, ratio, spread(ratios)),
  }
}

function verdictOf(goal: Goal, ratio: number, width: number): Outcome['verdict'] {
  if (!(width <= widestSpread)) return 'no result'
  if (goal.kind === 'none') return 'shown'
  if (goal.kind === 'between') return ratio >= goal.least && ratio <= goal.most ? 'holds' : 'falls short'
  const isReached = goal.kind === 'at-least' ? ratio >= goal.ratio : ratio <= goal.ratio
  return isReached ? 'holds' : 'falls short'
}

/** The median. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** Interquartile range relative to the median. NaN for one value. */
function spread(values: readonly number[]): number {
  return values.length === 1 ? NaN : (quantile(values, 0.75) - quantile(values, 0.25)) / median(values)
}

/** A quantile of the values, with linear interpolation. NaN without any values. */
export function quantile(values: readonly number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const place = (sorted.length - 1) * fraction
  const below = sorted[Math.floor(place)] ?? NaN
  const above = sorted[Math.ceil(place)] ?? NaN
  return below + (above - below) * (place - Math.floor(place))
}
