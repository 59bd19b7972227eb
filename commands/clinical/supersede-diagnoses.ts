import type { CaseEvent } from '../../streams/case/events.ts'
import type { CaseState } from '../../streams/case/aggregate.ts'
import { refused, type Decision } from '../handling/decision.ts'
import type { LesionShare } from './lesion-shares.ts'

export interface SupersedeDiagnoses {
  readonly aiReviewId: string
  readonly share: LesionShare
  /** Number of diagnoses of the whole review, which is its number of lesions. */
  readonly diagnosisCount: number
  /** The review that replaced it. */
  readonly supersededById: string
  readonly now: Date
}

/**
 * Supersedes the diagnoses of a review that another review has replaced (specification 6). The findings stay valid.
 * Diagnoses must be recorded before they can be superseded. The recording step and this step may run in either order,
 * so the first one records them.
 */
export function supersedeDiagnoses(
  command: SupersedeDiagnoses,
  state: CaseState,
): Decision<CaseEvent, 'not-found' | 'conflict'> {
  const { aiReviewId, share, diagnosisCount, supersededById, now } = command
  if (state.status === 'absent') return refused('not-found')
  const analysis = state.analyses.get(aiReviewId)
  const events: CaseEvent[] = []
  for (const [index, { lesionNumber }] of share.lesions.entries()) {
    const diagnosis = analysis?.get(lesionNumber)
    if (diagnosis === undefined) return refused('conflict')
    if (diagnosis.status === 'superseded') continue
    const { diagnosisId, findingId } = diagnosis
    const of = { caseId: state.caseId, diagnosisId, findingId, aiReviewId, lesionNumber }
    const place = { ordinal: share.before + index + 1, diagnosisCount }
    events.push({
      type: 'CaseDiagnosisSuperseded',
      data: { ...of, ...place, supersededById, supersededAt: now.toISOString() },
    })
  }
  return events
}
