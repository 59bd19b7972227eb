import { firstOf, flagOf, listOf, numberOf, textOf, type ProvenEvent } from './proven-events.ts'

/** What clinicians decided about a review. Null if nothing is known of it. Notes and corrections stay sealed. */
export function humanReviewOf(task: readonly ProvenEvent[]) {
  const [first] = task
  if (first === undefined) return null
  const opened = firstOf(task, 'HumanReviewTaskOpened')
  const decided = firstOf(task, 'HumanReviewTaskDecided')
  const cancelled = firstOf(task, 'HumanReviewTaskCancelled')
  const opinions = task.filter(({ type }) => type === 'HumanReviewOpinionGiven').map(opinionOf)
  const number = numberOf(decided?.data, 'opinion')
  return {
    task_id: textOf(first.data, 'taskId'),
    /** Whether the policy in force selected the review. */
    is_selected: opened !== undefined,
    opened_at: textOf(opened?.data, 'openedAt'),
    event_id: first.id,
    opinions,
    decision:
      decided === undefined
        ? null
        : {
            opinion: number,
            user_id: opinions.find((opinion) => opinion.number === number)?.user_id ?? null,
            agrees_with_ai: flagOf(decided.data, 'agreesWithAi'),
            decided_at: textOf(decided.data, 'decidedAt'),
            event_id: decided.id,
          },
    cancelled:
      cancelled === undefined
        ? null
        : {
            reason: textOf(cancelled.data, 'reason'),
            cancelled_at: textOf(cancelled.data, 'cancelledAt'),
            event_id: cancelled.id,
          },
  }
}

function opinionOf({ id, data }: ProvenEvent) {
  return {
    number: numberOf(data, 'number'),
    user_id: textOf(data, 'userId'),
    recommendation: textOf(data, 'recommendation'),
    lesions: listOf(data, 'lesions').map((lesion) => ({
      lesion_number: numberOf(lesion, 'lesionNumber'),
      outcome: textOf(lesion, 'outcome'),
    })),
    given_at: textOf(data, 'givenAt'),
    event_id: id,
  }
}
