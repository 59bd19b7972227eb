import type { CaseState } from '../../streams/case/aggregate.ts'
import type { CaseEvent } from '../../streams/case/events.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'

/**
 * Closes a case. A repeat changes nothing. Work that has begun goes on: a review that ends later still records its
 * findings. Workflow instances are cancelled afterwards. A close and a new task of human review may cross. The first
 * append wins: after `CaseHumanReviewStarted` the close is refused, and after `CaseClosed` the case stays closed.
 */
export function closeCase(
  { now }: { readonly now: Date },
  state: CaseState,
): Decision<CaseEvent, 'not-found' | 'case-in-review'> {
  if (state.status === 'absent') return refused('not-found')
  if (state.status === 'closed') return []
  if (state.status === 'in_review') return refused('case-in-review')
  const { caseId, patientId } = state
  return [{ type: 'CaseClosed', data: { caseId, patientId, closedAt: now.toISOString() } }]
}

type Assigned = Extract<CaseEvent, { type: 'CaseAssessmentAssigned' }>['data']

export interface AssignAssessment extends Omit<Assigned, 'assignedAt'> {
  readonly now: Date
}

/** A case has one assessment. The first request decides; a later one takes that assessment. */
export function assignAssessment(
  { now, ...assigned }: AssignAssessment,
  state: CaseState,
): Decision<CaseEvent, 'not-found' | 'case-closed'> {
  if (state.status === 'absent') return refused('not-found')
  if (state.assessmentId !== null) return []
  if (state.status === 'closed') return refused('case-closed')
  return [{ type: 'CaseAssessmentAssigned', data: { ...assigned, assignedAt: now.toISOString() } }]
}
