import type { CaseEvent } from '../../streams/case/events.ts'
import type { CaseState, ExistingCase } from '../../streams/case/aggregate.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import type { LesionBatch } from './lesion-batches.ts'

export interface Supersession {
  readonly aiReviewId: string
  /** Number of diagnoses of the whole review, which is its number of lesions. */
  readonly diagnosisCount: number
  /** The review that replaced it, or the task of human review. */
  readonly supersededById: string
  readonly now: Date
}

export interface SupersedeDiagnoses extends Supersession {
  readonly batch: LesionBatch
}

/**
 * Supersedes the diagnoses of a review that another review has replaced (specification 6). The findings and the diagnoses
 * of clinicians stay valid. Diagnoses must be recorded before they can be superseded. The recording step and this step
 * may run in either order, so the first one records them.
 */
export function supersedeDiagnoses(
  { batch, ...command }: SupersedeDiagnoses,
  state: CaseState,
): Decision<CaseEvent, 'not-found' | 'conflict'> {
  if (state.status === 'absent') return refused('not-found')
  const numbers = batch.lesions.map(({ lesionNumber }) => lesionNumber)
  return supersessionsOf({ ...command, taskId: null }, numbers, state) ?? refused('conflict')
}

/** One event for each active diagnosis of the AI among these lesions. Undefined if one is not recorded yet. */
export function supersessionsOf(
  { aiReviewId, diagnosisCount, supersededById, taskId, now }: Supersession & { readonly taskId: string | null },
  lesionNumbers: readonly number[],
  { caseId, analyses }: ExistingCase,
): CaseEvent[] | undefined {
  const analysis = analyses.get(aiReviewId)
  const events: CaseEvent[] = []
  let superseded = [...(analysis?.values() ?? [])].filter(({ status }) => status === 'superseded').length
  for (const lesionNumber of lesionNumbers) {
    const diagnosis = analysis?.get(lesionNumber)
    if (diagnosis === undefined) return undefined
    if (diagnosis.status === 'superseded') continue
    const { diagnosisId, findingId } = diagnosis
    superseded += 1
    const of = { caseId, diagnosisId, findingId, aiReviewId, lesionNumber, ordinal: superseded, diagnosisCount }
    events.push({
      type: 'CaseDiagnosisSuperseded',
      data: { ...of, supersededById, taskId, supersededAt: now.toISOString() },
    })
  }
  return events
}
