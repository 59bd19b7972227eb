import { decisionBatches, endHumanReview, hasFindings } from '../../commands/clinical/human-reviews.ts'
import { execute, loadSufficient } from '../../engine/commands/execute.ts'
import type { Position } from '../../platform/kit/positions.ts'
import { cases, type CaseState } from '../../streams/case/aggregate.ts'
import { humanReviewTasks } from '../../streams/human-review-task/aggregate.ts'
import type { ProcessStep } from '../dependencies.ts'

const findingsRetryMs = 2_000

/**
 * Records the result of an ended task in its case. The diagnoses belong to the findings of the AI, so it waits for them.
 * A large decision takes several appends. The last one ends the review of the case and the row.
 */
export const conclude: ProcessStep = async (todo, { store }) => {
  const { orgId, key: taskId, dueAt: now } = todo
  const hasEnded = ({ status }: { readonly status: string }) => status === 'decided' || status === 'cancelled'
  const task = await loadSufficient(store, humanReviewTasks.of(orgId, taskId), hasEnded)
  if (task.status === 'absent' || !hasEnded(task)) throw new Error('a task is concluded that has not ended')
  const target = cases.of(orgId, task.caseId)
  if (!hasFindings(task, await loadSufficient(store, target, (state) => hasFindings(task, state))))
    return { kind: 'retry', after: findingsRetryMs, reason: 'findings_not_recorded' }
  let position: Position | undefined
  for (const [index, batch] of decisionBatches(task).entries()) {
    const decide = (state: CaseState) => endHumanReview({ task, batch, now }, state)
    const part = index === 0 ? '' : `.${index}`
    const done = await execute(store, target, decide, todo.command(`human-review.conclude${part}`))
    position = done.position ?? position
  }
  return { kind: 'done', position }
}
