import { median, spread } from './statistics.ts'

/** One figure of a side: a rate, or a time. Rejects when the output of what was measured is not what it should be. */
export type Measure = () => Promise<number>

export type Comparison = {
  name: string
  unit: string
  ours: { name: string; measure: Measure }
  other: { name: string; measure: Measure }
  /** What the ratio of ours over the other should be; `at-most` for times. */
  goal: { kind: 'at-least' | 'at-most'; ratio: number }
}

export type Outcome = {
  name: string
  unit: string
  ours: { name: string; median: number }
  other: { name: string; median: number }
  /** Median of the rounds' ratios, and the distance between their quartiles as a share of it. */
  ratio: number
  spread: number
  goal: string
  verdict: 'holds' | 'falls short' | 'no result'
}

/** A spread above this is no result: the machine did something else meanwhile. */
const WIDEST_SPREAD = 0.15

/** Measures both sides in turn, the first one of a round changing, after a round that does not count. */
export async function compare({ name, unit, ours, other, goal }: Comparison, rounds: number): Promise<Outcome> {
  const seen: { ours: number; other: number }[] = []
  for (let round = 0; round <= rounds; round += 1) {
    const figures = { ours: 0, other: 0 }
    if (round % 2 === 0) figures.ours = await ours.measure()
    figures.other = await other.measure()
    if (round % 2 === 1) figures.ours = await ours.measure()
    if (round > 0) seen.push(figures)
  }
  const ratios = seen.map((round) => round.ours / round.other)
  const ratio = median(ratios)
  const isReached = goal.kind === 'at-least' ? ratio >= goal.ratio : ratio <= goal.ratio
  return {
    name,
    unit,
    ours: { name: ours.name, median: median(seen.map((round) => round.ours)) },
    other: { name: other.name, median: median(seen.map((round) => round.other)) },
    ratio,
    spread: spread(ratios),
    goal: `${goal.kind === 'at-least' ? '≥' : '≤'} ${goal.ratio.toFixed(2)}`,
    verdict: spread(ratios) > WIDEST_SPREAD ? 'no result' : isReached ? 'holds' : 'falls short',
  }
}
