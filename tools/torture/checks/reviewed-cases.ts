import { at } from '../../../app/demo/api-client.ts'
import { placeOf, text, type Checked, type Fact, type Finding } from '../facts.ts'

interface Expected {
  readonly opened: Fact
  /** The decided outcome of each lesion, by its number. Undefined while the task has not ended. */
  outcomes: ReadonlyMap<unknown, unknown> | undefined
  readonly opinions: Fact[]
}

const recordedTypes = [
  'CaseHumanReviewStarted',
  'CaseHumanReviewEnded',
  'CaseDiagnosisRecorded',
  'CaseDiagnosisSuperseded',
]

/** `<task> <type>`, and the lesion of a diagnosis. */
function resultOf(fact: Fact): string {
  const lesion: unknown = at(fact.data, 'lesionNumber')
  return [text(fact, 'taskId'), fact.type, ...(typeof lesion === 'number' ? [lesion] : [])].join(' ')
}

function outcomesOf(opinion: Fact | undefined): ReadonlyMap<unknown, unknown> {
  const lesions: unknown = at(opinion?.data, 'lesions')
  return new Map(
    (Array.isArray(lesions) ? lesions : []).map((lesion: unknown) => [
      at(lesion, 'lesionNumber'),
      at(lesion, 'outcome'),
    ]),
  )
}

/** The tasks according to their streams, from a second definition that is independent of process and aggregate. */
function tasksOf(log: readonly Fact[]): ReadonlyMap<string, Expected> {
  const tasks = new Map<string, Expected>()
  for (const fact of log) {
    const task = tasks.get(text(fact, 'taskId'))
    if (fact.type === 'HumanReviewTaskOpened')
      tasks.set(text(fact, 'taskId'), { opened: fact, outcomes: undefined, opinions: [] })
    if (fact.type === 'HumanReviewOpinionGiven') task?.opinions.push(fact)
    if (task !== undefined && fact.type === 'HumanReviewTaskCancelled') task.outcomes = new Map()
    if (task !== undefined && fact.type === 'HumanReviewTaskDecided')
      task.outcomes = outcomesOf(task.opinions[Number(at(fact.data, 'opinion')) - 1])
  }
  return tasks
}

/** What the case of a task must have. A superseded diagnosis of the AI is not among it: a later review may come first. */
function wantedOf(taskId: string, { outcomes }: Expected): string[] {
  if (outcomes === undefined) return [`${taskId} CaseHumanReviewStarted`]
  const added = [...outcomes].flatMap(([lesion, outcome]) =>
    outcome === 'reject' ? [] : [`${taskId} CaseDiagnosisRecorded ${String(lesion)}`],
  )
  return [`${taskId} CaseHumanReviewStarted`, `${taskId} CaseHumanReviewEnded`, ...added]
}

/** Results of tasks that their cases lack. */
export function withoutResult(log: readonly Fact[]): readonly string[] {
  const recorded = new Set(log.filter(({ type }) => recordedTypes.includes(type)).map(resultOf))
  return [...tasksOf(log)].flatMap(([taskId, task]) => wantedOf(taskId, task)).filter((one) => !recorded.has(one))
}

/**
 * Each task is known to its case before it is opened. Each decided task has one diagnosis of the clinician for each lesion that it
 * confirms or corrects, and has superseded no diagnosis that it confirms. All of it is recorded once, before the review of the case
 * ends.
 */
export function checkReviewedCases(log: readonly Fact[]): Checked {
  const tasks = tasksOf(log)
  const findings: Finding[] = withoutResult(log).map((where) => ({ what: 'no result of a task in its case', where }))
  const seen = new Set<string>()
  for (const fact of log) {
    const taskId = text(fact, 'taskId')
    if (fact.type === 'HumanReviewTaskOpened' && !seen.has(`${taskId} CaseHumanReviewStarted`))
      findings.push({ what: 'a task that its case does not know', where: placeOf(fact) })
    if (!recordedTypes.includes(fact.type) || taskId === '') continue
    const lesion: unknown = at(fact.data, 'lesionNumber')
    const outcome = tasks.get(taskId)?.outcomes?.get(lesion)
    if (seen.has(resultOf(fact))) findings.push({ what: `a second ${fact.type} of a task`, where: placeOf(fact) })
    if (seen.has(`${taskId} CaseHumanReviewEnded`))
      findings.push({ what: 'a result after the end of a review', where: placeOf(fact) })
    const refuted = fact.type === 'CaseDiagnosisRecorded' ? 'reject' : 'confirm'
    if (typeof lesion === 'number' && (outcome === undefined || outcome === refuted))
      findings.push({ what: `${fact.type} that nobody decided`, where: placeOf(fact) })
    seen.add(resultOf(fact))
  }
  return { check: 'results of human review in their cases once', examined: tasks.size, findings }
}
