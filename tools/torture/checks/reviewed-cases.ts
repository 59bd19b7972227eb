import { at } from '../../../app/demo/members.ts'
import { placeOf, text, type Checked, type Fact, type Finding } from '../facts.ts'
import { lesionsOf } from './human-review.ts'

interface Expected {
  readonly opened: Fact
  /** The decision about each lesion, by its number. Undefined while the task has not ended. */
  decisions: ReadonlyMap<unknown, unknown> | undefined
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

function byNumber(lesions: readonly unknown[]): ReadonlyMap<unknown, unknown> {
  return new Map(lesions.map((lesion) => [at(lesion, 'lesionNumber'), lesion]))
}

/** Category and codes of a lesion or a diagnosis. A missing code equals null. */
function codesOf(coded: unknown): string {
  const codes = ['icd10', 'snomed'].flatMap((system) => ['code', 'term'].map((member) => at(coded, system, member)))
  return JSON.stringify([...codes, at(coded, 'category')].map((value: unknown) => value ?? null))
}

/** The tasks according to their streams, from a second definition that is independent of process and aggregate. */
function tasksOf(log: readonly Fact[]): ReadonlyMap<string, Expected> {
  const tasks = new Map<string, Expected>()
  for (const fact of log) {
    const task = tasks.get(text(fact, 'taskId'))
    if (fact.type === 'HumanReviewTaskOpened')
      tasks.set(text(fact, 'taskId'), { opened: fact, decisions: undefined, opinions: [] })
    if (fact.type === 'HumanReviewOpinionGiven') task?.opinions.push(fact)
    if (task !== undefined && fact.type === 'HumanReviewTaskCancelled') task.decisions = new Map()
    if (task !== undefined && fact.type === 'HumanReviewTaskDecided')
      task.decisions = byNumber(lesionsOf(task.opinions[Number(at(fact.data, 'opinion')) - 1]))
  }
  return tasks
}

function outcomeOf({ decisions }: Pick<Expected, 'decisions'>, lesion: unknown): unknown {
  return at(decisions?.get(lesion), 'outcome')
}

/** `<review> AI <lesion>`: the diagnosis of the AI is superseded, by the task or by a later review. */
function supersededOf(aiReviewId: string, lesion: unknown): string {
  return `${aiReviewId} AI ${String(lesion)}`
}

/** What the case of a task must have. */
function wantedOf(taskId: string, task: Expected): string[] {
  const { opened, decisions } = task
  if (decisions === undefined) return [`${taskId} CaseHumanReviewStarted`]
  const results = [...decisions.keys()].flatMap((lesion) => {
    const outcome = outcomeOf(task, lesion)
    return [
      ...(outcome === 'reject' ? [] : [`${taskId} CaseDiagnosisRecorded ${String(lesion)}`]),
      ...(outcome === 'confirm' ? [] : [supersededOf(text(opened, 'aiReviewId'), lesion)]),
    ]
  })
  return [`${taskId} CaseHumanReviewStarted`, `${taskId} CaseHumanReviewEnded`, ...results]
}

/** Results of tasks that their cases lack. */
export function withoutResult(log: readonly Fact[]): readonly string[] {
  const results = log.filter(({ type }) => recordedTypes.includes(type))
  const recorded = new Set([
    ...results.map(resultOf),
    ...results
      .filter(({ type }) => type === 'CaseDiagnosisSuperseded')
      .map((fact) => supersededOf(text(fact, 'aiReviewId'), at(fact.data, 'lesionNumber'))),
  ])
  return [...tasksOf(log)].flatMap(([taskId, task]) => wantedOf(taskId, task)).filter((one) => !recorded.has(one))
}

/**
 * Each task is known to its case before it is opened. Each decided task has one diagnosis of the clinician for each lesion
 * that it confirms or corrects, with the codes of the AI or a correction. The diagnosis of the AI is superseded if the task
 * corrects or rejects it, and by the task only then. All of it is recorded once, before the review of the case ends.
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
    const task = tasks.get(taskId)
    const outcome = task === undefined ? undefined : outcomeOf(task, lesion)
    if (seen.has(resultOf(fact))) findings.push({ what: `a second ${fact.type} of a task`, where: placeOf(fact) })
    if (seen.has(`${taskId} CaseHumanReviewEnded`))
      findings.push({ what: 'a result after the end of a review', where: placeOf(fact) })
    const refuted = fact.type === 'CaseDiagnosisRecorded' ? 'reject' : 'confirm'
    if (typeof lesion === 'number' && (outcome === undefined || outcome === refuted))
      findings.push({ what: `${fact.type} that nobody decided`, where: placeOf(fact) })
    else if (fact.type === 'CaseDiagnosisRecorded' && task !== undefined) {
      // A correction is sealed in the log.
      const ofAi = byNumber(lesionsOf(task.opened)).get(lesion)
      const isCorrected = (at(fact.data, 'correction') ?? null) !== null
      if (isCorrected !== (outcome === 'correct') || codesOf(fact.data) !== codesOf(isCorrected ? undefined : ofAi))
        findings.push({ what: 'a diagnosis with other codes than decided', where: placeOf(fact) })
    }
    seen.add(resultOf(fact))
  }
  const outcomes = [...tasks.values()].flatMap((task) =>
    [...(task.decisions?.keys() ?? [])].map((lesion) => outcomeOf(task, lesion)),
  )
  const counts = ['confirm', 'correct', 'reject'].map(
    (name) => `${outcomes.filter((one) => one === name).length} ${name}`,
  )
  return { check: `results of human review in their cases once (${counts.join(', ')})`, examined: tasks.size, findings }
}
