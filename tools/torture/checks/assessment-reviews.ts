import { at } from '../../../app/demo/api-client.ts'
import { placeOf, text, type Checked, type Fact, type Finding } from '../facts.ts'

/** What an assessment records of the task of the review that ended it. */
const followed: Readonly<Record<string, string>> = {
  HumanReviewTaskOpened: 'AssessmentHumanReviewOpened',
  HumanReviewTaskDecided: 'AssessmentHumanReviewDecided',
  HumanReviewTaskCancelled: 'AssessmentHumanReviewCancelled',
}
const recorded = Object.values(followed)

/** An ended assessment with the events that its task demands, and those that it has. */
interface ReviewedAssessment {
  readonly end: Fact
  readonly wanted: readonly string[]
  readonly found: readonly Fact[]
}

function reviewedIn(log: readonly Fact[]): readonly ReviewedAssessment[] {
  const opened = log.filter(({ type }) => type === 'HumanReviewTaskOpened')
  const tasks = new Map(opened.map((fact) => [text(fact, 'aiReviewId'), text(fact, 'taskId')]))
  const changes = Map.groupBy(
    log.filter(({ type }) => type in followed),
    (fact) => text(fact, 'taskId'),
  )
  const found = Map.groupBy(
    log.filter(({ type }) => recorded.includes(type)),
    ({ stream }) => stream,
  )
  const ends = log.filter(({ type }) => type === 'AssessmentCompleted' || type === 'AssessmentFailed')
  return ends.map((end) => {
    const taskId = tasks.get(String(at(end.data, 'aiReviewId'))) ?? ''
    const wanted = (changes.get(taskId) ?? []).map(({ type }) => followed[type] ?? '')
    return { end, wanted, found: found.get(end.stream) ?? [] }
  })
}

/** Assessments that do not contain yet what has happened to their task. */
export function reviewsUnderWay(log: readonly Fact[]): readonly string[] {
  return reviewedIn(log).flatMap(({ end, wanted, found }) =>
    wanted.slice(found.length).map((type) => `${end.stream} lacks ${type}`),
  )
}

/** Each assessment records each change of the task of the review that ended it once, in order, and no other. */
export function checkAssessmentReviews(log: readonly Fact[]): Checked {
  const reviewed = reviewedIn(log)
  const findings = reviewed.flatMap(({ end, wanted, found }): Finding[] => [
    ...wanted.slice(found.length).map((type) => ({ what: `an assessment without ${type}`, where: placeOf(end) })),
    ...found.flatMap((fact, place) =>
      fact.type === wanted[place] ? [] : [{ what: 'a human review that its task does not have', where: placeOf(fact) }],
    ),
  ])
  const examined = reviewed.filter(({ wanted }) => wanted.length > 0).length
  return { check: 'assessments follow the human review of the review that ended them', examined, findings }
}
