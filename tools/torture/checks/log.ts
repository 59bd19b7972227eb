import { placeOf, type Fact, type Checked, type Finding } from '../facts.ts'

/** Each stream counts from 0 without gaps in the order of the log, and no event id occurs twice. */
export function checkRevisions(log: readonly Fact[]): Checked {
  const findings: Finding[] = []
  const next = new Map<string, bigint>()
  const ids = new Map<string, Fact>()
  for (const fact of log) {
    const due = next.get(fact.stream) ?? 0n
    if (fact.revision !== due)
      findings.push({
        what: `a stream continues with revision ${fact.revision} instead of ${due}`,
        where: placeOf(fact),
      })
    next.set(fact.stream, fact.revision + 1n)
    const other = ids.get(fact.id)
    if (other !== undefined)
      findings.push({ what: `an event id occurs twice in the log, first as ${placeOf(other)}`, where: placeOf(fact) })
    ids.set(fact.id, fact)
  }
  return { check: `revisions of ${next.size} streams without gaps`, examined: log.length, findings }
}

/**
 * The first reading, or a subscriber's events, is a prefix of the later reading. The later one may be longer: some
 * events are due by time, such as the end of a deleted subscription's secrets.
 */
export function checkSameOrder(what: string, first: readonly Fact[], later: readonly Fact[]): Checked {
  const findings: Finding[] = []
  const place = first.findIndex((fact, index) => !isSame(fact, later[index]))
  if (place !== -1) {
    const shown = (fact: Fact | undefined) => (fact === undefined ? 'nothing' : placeOf(fact))
    findings.push({
      what: `event ${place} of ${first.length} and ${later.length} differs`,
      where: `${shown(first[place])} | ${shown(later[place])}`,
    })
  }
  return { check: `order: ${what}`, examined: first.length, findings }
}

/** A subscriber received every event that the log had before, in the order of a later reading. */
export function checkSubscriber(before: readonly Fact[], given: readonly Fact[], after: readonly Fact[]): Checked {
  const ordered = checkSameOrder('as a subscriber saw it that followed all the time', given, after)
  const lacking = before[given.length]
  return lacking === undefined
    ? ordered
    : {
        ...ordered,
        findings: [
          ...ordered.findings,
          { what: `a subscriber received ${given.length} of ${before.length} events`, where: placeOf(lacking) },
        ],
      }
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
