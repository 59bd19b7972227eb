import type { HumanReviewTask, HumanReviewTaskState, Opinion } from '../../streams/human-review-task/aggregate.ts'
import type { HumanReviewTaskEvent, LesionDecision } from '../../streams/human-review-task/events.ts'
import type { CausingRequest } from '../../engine/aggregates/types.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import { earlierRequest, holderOf, undecided, type TaskRefusal } from './tasks.ts'

export interface DecideTask extends Pick<Opinion, 'userId' | 'recommendation' | 'note'> {
  readonly lesions: readonly LesionDecision[]
  readonly request: CausingRequest
  readonly now: Date
}

/**
 * Records the holder's opinion, and decides the task if it has enough of them. Two opinions that differ make a third
 * one necessary, which is then the decision. The same user with the same opinion again changes nothing.
 */
export function decideTask(
  command: DecideTask,
  state: HumanReviewTaskState,
): Decision<HumanReviewTaskEvent, TaskRefusal | 'task-not-claimed' | 'lesions-incomplete'> {
  if (state.status === 'absent') return refused('not-found')
  if (!coversLesions(command, state)) return refused('lesions-incomplete')
  const earlier = earlierRequest(command.request, state)
  if (earlier !== undefined) return earlier
  const isKnown = state.opinions.some((opinion) => isSameOpinion(opinion, command))
  if (isKnown && state.status !== 'cancelled') return []
  const task = undecided(state)
  if ('refused' in task) return task
  if (holderOf(task, command.now) !== command.userId) return refused('task-not-claimed')
  return given(command, task)
}

function given({ now, request, ...answer }: DecideTask, task: HumanReviewTask): HumanReviewTaskEvent[] {
  const { taskId, patientId, opinions } = task
  const at = now.toISOString()
  const lesions = answer.lesions.toSorted((one, other) => one.lesionNumber - other.lesionNumber)
  const opinion: Opinion = { ...answer, lesions, number: opinions.length + 1, givenAt: at }
  const [first] = opinions
  const differs = opinion.number === 2 && first !== undefined && !agree(first, opinion)
  const opinionsRequired = differs ? 3 : task.opinionsRequired
  const corrections = lesions.flatMap(({ outcome, ...correction }) => (outcome === 'correct' ? [correction] : []))
  const recorded: HumanReviewTaskEvent = {
    type: 'HumanReviewOpinionGiven',
    data: {
      taskId,
      patientId,
      ...opinion,
      opinionsRequired,
      request,
      lesions: lesions.map(({ lesionNumber, outcome }) => ({ lesionNumber, outcome })),
      corrections: corrections.length === 0 ? null : corrections,
    },
  }
  if (opinion.number < opinionsRequired) return [recorded]
  const decision = opinion.number === 2 && first !== undefined ? first : opinion
  const agreesWithAi = decision.lesions.every(({ outcome }) => outcome === 'confirm')
  return [
    recorded,
    { type: 'HumanReviewTaskDecided', data: { taskId, opinion: decision.number, agreesWithAi, decidedAt: at } },
  ]
}

/** Each lesion of the review exactly once. */
function coversLesions({ lesions }: DecideTask, task: HumanReviewTask): boolean {
  const numbers = new Set(lesions.map(({ lesionNumber }) => lesionNumber))
  return (
    numbers.size === lesions.length &&
    numbers.size === task.lesions.length &&
    task.lesions.every(({ lesionNumber }) => numbers.has(lesionNumber))
  )
}

/** Two opinions agree if they lead to the same record. Notes, SNOMED codes and the terms of codes may differ. */
function agree(one: Opinion, other: Opinion): boolean {
  const contentOf = ({ lesions, recommendation }: Opinion): string =>
    JSON.stringify([
      recommendation,
      lesions.map(({ lesionNumber, outcome, icd10, category }) => [lesionNumber, outcome, icd10?.code, category]),
    ])
  return contentOf(one) === contentOf(other)
}

function isSameOpinion(opinion: Opinion, command: DecideTask): boolean {
  return contentOf(opinion) === contentOf(command)
}

function contentOf({
  userId,
  lesions,
  recommendation,
  note,
}: Pick<DecideTask, 'userId' | 'lesions' | 'recommendation' | 'note'>): string {
  const decisions = lesions
    .toSorted((one, other) => one.lesionNumber - other.lesionNumber)
    .map(({ lesionNumber, outcome, icd10, snomed, category }) => [
      lesionNumber,
      outcome,
      icd10?.code,
      icd10?.term,
      snomed?.code,
      snomed?.term,
      category,
    ])
  return JSON.stringify([userId, decisions, recommendation, note])
}
