import { placeOf, text, type Checked, type Fact, type Finding } from '../facts.ts'

/** What an assessment records of each task of its reviews. */
const followed: Readonly<Record<string, string>> = {
  HumanReviewTaskOpened: 'AssessmentHumanReviewOpened',
  HumanReviewTaskDecided: 'AssessmentHumanReviewDecided',
  HumanReviewTaskCancelled: 'AssessmentHumanReviewCancelled',
}
const recorded = Object.values(followed)

/** A task that has an assessment, with the events that its assessment needs, and those that it has. */
interface FollowedTask {
  readonly of: Fact
  readonly wanted: readonly string[]
  readonly found: readonly Fact[]
}

/** Names a task of an assessment. */
const named = (fact: Fact) => `${text(fact, 'assessmentId')} ${text(fact, 'taskId')}`

function followedIn(log: readonly Fact[]): readonly FollowedTask[] {
  const given = log.filter(
    (fact) =>
      ['HumanReviewTaskOpened', 'HumanReviewAssessmentAssigned'].includes(fact.type) &&
      text(fact, 'assessmentId') !== '',
  )
  const changes = Map.groupBy(
    log.filter(({ type }) => type in followed),
    (fact) => text(fact, 'taskId'),
  )
  const found = Map.groupBy(
    log.filter(({ type }) => recorded.includes(type)),
    named,
  )
  return given.map((of) => ({
    of,
    wanted: (changes.get(text(of, 'taskId')) ?? []).map(({ type }) => followed[type] ?? ''),
    found: found.get(named(of)) ?? [],
  }))
}

/** Assessments that do not contain yet what has happened to one of their tasks. */
export function reviewsUnderWay(log: readonly Fact[]): readonly string[] {
  return followedIn(log).flatMap(({ of, wanted, found }) =>
    wanted.slice(found.length).map((type) => `${text(of, 'assessmentId')} lacks ${type}`),
  )
}

/** Each assessment records each change of each of its tasks once, in order, and no other. */
export function checkAssessmentReviews(log: readonly Fact[]): Checked {
  const tasks = followedIn(log)
  const known = new Set(tasks.map(({ of }) => named(of)))
  const foreign = log.filter((fact) => recorded.includes(fact.type) && !known.has(named(fact)))
  const findings = [
    ...tasks.flatMap(({ of, wanted, found }): Finding[] => [
      ...wanted.slice(found.length).map((type) => ({ what: `an assessment without ${type}`, where: placeOf(of) })),
      ...found.flatMap((fact, place) => (fact.type === wanted[place] ? [] : [unwanted(fact)])),
    ]),
    ...foreign.map(unwanted),
  ]
  return { check: 'assessments follow each task of their AI reviews', examined: tasks.length, findings }
}

function unwanted(fact: Fact): Finding {
  return { what: 'a human review that its task does not have', where: placeOf(fact) }
}
