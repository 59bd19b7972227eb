import { placeOf, type Fact } from '../facts.ts'
import type { Checked, Finding } from './checked.ts'

/** Each stream counts from 0 without gaps, in the order of the log, and no event id stands in the log twice. */
export function checkRevisions(log: readonly Fact[]): Checked {
  const findings: Finding[] = []
  const next = new Map<string, bigint>()
  const ids = new Map<string, Fact>()
  for (const fact of log) {
    const due = next.get(fact.stream) ?? 0n
    if (fact.revision !== due) findings.push({ what: `a stream goes on with revision ${fact.revision} where ${due} is due`, where: placeOf(fact) })
    next.set(fact.stream, fact.revision + 1n)
    const other = ids.get(fact.id)
    if (other !== undefined) findings.push({ what: `an event id stands in the log twice, first as ${placeOf(other)}`, where: placeOf(fact) })
    ids.set(fact.id, fact)
  }
  return { check: `revisions of ${next.size} streams without gaps`, examined: log.length, findings }
}

/** Two readings, or a reading and what a subscriber was given, hold the same events in the same order. */
export function checkSameOrder(what: string, log: readonly Fact[], other: readonly Fact[]): Checked {
  const findings: Finding[] = []
  const place = log.findIndex((fact, index) => !isSame(fact, other[index]))
  const first = place === -1 && other.length > log.length ? log.length : place
  if (first !== -1) {
    const [ours, theirs] = [log[first], other[first]]
    const shown = (fact: Fact | undefined) => (fact === undefined ? 'nothing' : placeOf(fact))
    findings.push({ what: `event ${first} of ${log.length} and ${other.length} is not the same`, where: `${shown(ours)} | ${shown(theirs)}` })
  }
  return { check: `order: ${what}`, examined: other.length, findings }
}

function isSame(fact: Fact, other: Fact | undefined): boolean {
  return (
    other !== undefined &&
    fact.id === other.id &&
    fact.stream === other.stream &&
    fact.revision === other.revision &&
    fact.position === other.position &&
    fact.type === other.type &&
    JSON.stringify(fact.data) === JSON.stringify(other.data)
  )
}
