import { text, type Fact, type Checked } from '../facts.ts'

/** Number of assessments by outcome: `completed`, or their failure code. */
export function outcomesOf(log: readonly Fact[]): Readonly<Record<string, number>> {
  const ends = log.filter(({ type }) => type === 'AssessmentCompleted' || type === 'AssessmentFailed')
  const named = Map.groupBy(ends, (end) => (end.type === 'AssessmentCompleted' ? 'completed' : text(end, 'code')))
  return Object.fromEntries([...named].map(([outcome, facts]) => [outcome, facts.length]))
}

/** Failures that the load causes by cancelling reviews and withdrawing consents. */
const askedFor = ['CANCELLED', 'CONSENT_MISSING']

/** Kills delay assessments and must not fail them. Nine in ten of those that no client ended complete. */
export function checkOutcomes(log: readonly Fact[]): Checked {
  const outcomes = Object.entries(outcomesOf(log)).filter(([outcome]) => !askedFor.includes(outcome))
  const examined = outcomes.reduce((sum, [, count]) => sum + count, 0)
  const completed = outcomes.find(([outcome]) => outcome === 'completed')?.[1] ?? 0
  const findings =
    completed * 10 >= examined * 9 && examined > 0
      ? []
      : [{ what: 'too few completed', where: outcomes.map(([outcome, count]) => `${outcome} ${count}`).join(', ') }]
  return { check: 'assessments complete despite the kills', examined, findings }
}
