import { categoryOf, placeOf, text, type Fact, type Checked, type Finding } from '../facts.ts'
import { decisive, roundEnds, roundsOf } from './rounds.ts'

const ends: Readonly<Record<string, readonly string[]>> = {
  assessment: ['AssessmentCompleted', 'AssessmentFailed'],
  ai_review: ['AiReviewCompleted', 'AiReviewFailed', 'AiReviewCancelled'],
  webhook_delivery: roundEnds,
}
const overtaken = 'AiReviewSuperseded'

/**
 * Streams of assessments, reviews and deliveries without an end of their current round. An assessment needs one only
 * after its submit.
 */
export function withoutEnd(log: readonly Fact[]): readonly string[] {
  return livesOf(log).flatMap(({ stream, facts }) => {
    const [first] = facts
    if (first === undefined || endsOf(facts).length > 0 || facts.some(({ type }) => type === overtaken)) return []
    const isDue = categoryOf(first) !== 'assessment' || facts.some(({ type }) => type === 'AssessmentSubmitted')
    return isDue ? [stream] : []
  })
}

/**
 * Each assessment and review has exactly one end; a delivery has one for each round. A review is superseded at most
 * once. No other event follows an end.
 */
export function checkEndings(log: readonly Fact[]): Checked {
  const findings: Finding[] = []
  const lives = livesOf(log)
  for (const { facts } of lives) {
    const found = endsOf(facts)
    const superseded = facts.filter(({ type }) => type === overtaken)
    for (const second of [...found.slice(1), ...superseded.slice(1)])
      findings.push({ what: 'a second end', where: placeOf(second) })
    const end = found[0] === undefined ? -1 : facts.indexOf(found[0])
    const after = end === -1 ? [] : facts.slice(end + 1).filter((fact) => fact !== found[1] && fact.type !== overtaken)
    for (const fact of after) findings.push({ what: 'an event after the end', where: placeOf(fact) })
  }
  for (const stream of withoutEnd(log)) findings.push({ what: 'no end', where: stream })
  return { check: 'one end for each assessment, review and delivery', examined: lives.length, findings }
}

/**
 * Each case and product has at most one active review. Every other one is superseded by another review. A request opens
 * at most one review.
 */
export function checkSlots(log: readonly Fact[]): Checked {
  const findings: Finding[] = []
  const reviews = new Map<string, Fact[]>()
  for (const fact of log.filter(({ type }) => type === 'AiReviewRequested')) {
    const slot = `${text(fact, 'caseId')}.${text(fact, 'productId')}`
    reviews.set(slot, [...(reviews.get(slot) ?? []), fact])
  }
  const superseded = new Set(log.filter(({ type }) => type === overtaken).map(({ stream }) => stream))
  for (const facts of reviews.values()) {
    const active = facts.filter(({ stream }) => !superseded.has(stream))
    for (const second of active.slice(1))
      findings.push({ what: 'a second active review of a case', where: placeOf(second) })
  }
  return { check: 'one active review for each case', examined: reviews.size, findings }
}

function endsOf(facts: readonly Fact[]): readonly Fact[] {
  const [first] = facts
  const types = first === undefined ? [] : (ends[categoryOf(first)] ?? [])
  return facts.filter(({ type }) => types.includes(type))
}

function livesOf(log: readonly Fact[]): readonly { readonly stream: string; readonly facts: readonly Fact[] }[] {
  const streams = Map.groupBy(
    log.filter((fact) => categoryOf(fact) in ends),
    ({ stream }) => stream,
  )
  return [...streams].flatMap(([stream, facts]) => roundsOf(facts).map((round) => ({ stream, facts: decisive(round) })))
}
