import { v5 } from 'uuid'
import type { CaseEvent } from '../../streams/case/events.ts'
import type { CaseState, ExistingCase } from '../../streams/case/aggregate.ts'
import type { HumanReviewTask } from '../../streams/human-review-task/aggregate.ts'
import { correctionTextLimit, type LesionDecision } from '../../streams/human-review-task/events.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import { batchesOf, type LesionBatch } from './lesion-batches.ts'
import { supersessionsOf } from './supersede-diagnoses.ts'

export interface StartHumanReview {
  readonly taskId: string
  readonly aiReviewId: string
  readonly productId: string
  readonly now: Date
}

/**
 * The case is in review until the task ends. A closed case stays closed, and its task goes on. A case without a stream is
 * one of another service.
 */
export function startHumanReview(command: StartHumanReview, state: CaseState): Decision<CaseEvent> {
  const { now, ...named } = command
  const { taskId } = named
  if (state.status === 'absent' || state.humanReviews.has(taskId)) return []
  const caseStatus = state.status === 'closed' ? 'closed' : 'in_review'
  const assessmentId = assessmentOf(named.productId, state)
  const data = { ...named, caseId: state.caseId, assessmentId, caseStatus, startedAt: now.toISOString() } as const
  return [{ type: 'CaseHumanReviewStarted', data }]
}

/** It opened the case, or was assigned to it. */
function assessmentOf(productId: string, { assigned, assessmentId, ...opened }: ExistingCase): string | null {
  return (assigned ?? opened).productId === productId ? assessmentId : null
}

interface ConcludedTask extends Pick<HumanReviewTask, 'taskId' | 'aiReviewId' | 'lesions'> {
  /** Null if the task was cancelled. */
  readonly decision: { readonly lesions: readonly LesionDecision[] } | null
}

/**
 * The decision about each lesion. `confirm` has the codes of the AI. A task without a decision has none. A correction counts
 * as if its texts were as long as they may be: an erasure makes them unreadable, and each batch has a command id, so the
 * batches must stay the same.
 */
export function decisionBatches({ lesions, decision }: ConcludedTask): LesionBatch<LesionDecision>[] {
  const ofAi = new Map(lesions.map((lesion) => [lesion.lesionNumber, lesion]))
  const decided = (decision?.lesions ?? []).map((lesion) =>
    lesion.outcome === 'confirm' ? { ...lesion, ...ofAi.get(lesion.lesionNumber) } : lesion,
  )
  const batches = batchesOf(decided, ({ outcome, icd10, snomed, category }) => {
    const texts = [icd10?.code, icd10?.term, snomed?.code, snomed?.term, category]
    if (outcome === 'correct') return texts.length * correctionTextLimit
    return texts.reduce((sum, text) => sum + (text?.length ?? 0), 0)
  })
  return batches.length === 0 ? [{ lesions: [], before: 0 }] : batches
}

/** Whether the lesions of the decision have their findings. The process that records them may be behind. */
export function hasFindings({ aiReviewId, decision }: ConcludedTask, state: CaseState): boolean {
  if (state.status === 'absent') return false
  const analysis = state.analyses.get(aiReviewId)
  return decision?.lesions.every(({ lesionNumber }) => analysis?.has(lesionNumber) === true) ?? true
}

export interface EndHumanReview {
  readonly task: ConcludedTask
  readonly batch: LesionBatch<LesionDecision>
  readonly now: Date
}

/**
 * Records one batch of the decision: the diagnoses of the clinician. Supersedes the diagnoses of the AI that the batch
 * corrects or rejects. The last batch also ends the review of the case by this task.
 */
export function endHumanReview(
  { task, batch, now }: EndHumanReview,
  state: CaseState,
): Decision<CaseEvent, 'not-found' | 'conflict'> {
  if (state.status === 'absent') return refused('not-found')
  const { taskId, aiReviewId, lesions } = task
  if (state.humanReviews.get(taskId)?.status !== 'open') return []
  const refuted = batch.lesions.filter(({ outcome }) => outcome !== 'confirm').map(({ lesionNumber }) => lesionNumber)
  const by = { aiReviewId, diagnosisCount: lesions.length, supersededById: taskId, taskId, now }
  const superseded = supersessionsOf(by, refuted, state)
  if (superseded === undefined) return refused('conflict')
  const recorded = batch.lesions
    .filter(({ outcome }) => outcome !== 'reject')
    .map((lesion) => diagnosisOf(lesion, task, state, now))
    .filter(({ data }) => !state.clinicianDiagnoses.has(data.diagnosisId))
  const isLast = batch.before + batch.lesions.length === (task.decision?.lesions.length ?? 0)
  return [...superseded, ...recorded, ...(isLast ? [endOf(task, state, now)] : [])]
}

const noCode = { code: null, term: null }
const noCodes = { icd10: noCode, snomed: noCode, category: null }

function diagnosisOf(
  { lesionNumber, outcome, ...given }: LesionDecision,
  { taskId, aiReviewId }: ConcludedTask,
  { caseId, patientId }: ExistingCase,
  now: Date,
) {
  const codes = { icd10: given.icd10 ?? noCode, snomed: given.snomed ?? noCode, category: given.category }
  const data = {
    caseId,
    diagnosisId: v5(String(lesionNumber), taskId),
    findingId: v5(String(lesionNumber), aiReviewId),
    source: 'clinician',
    taskId,
    aiReviewId,
    lesionNumber,
    ...(outcome === 'correct' ? { ...noCodes, correction: codes } : { ...codes, correction: null }),
    patientId,
    recordedAt: now.toISOString(),
  } as const
  return { type: 'CaseDiagnosisRecorded', data } as const
}

function endOf({ taskId, aiReviewId }: ConcludedTask, state: ExistingCase, now: Date): CaseEvent {
  const isWaiting = [...state.humanReviews].some(([other, { status }]) => other !== taskId && status === 'open')
  const caseStatus = state.status === 'closed' ? 'closed' : isWaiting ? 'in_review' : 'open'
  const data = { caseId: state.caseId, taskId, aiReviewId, caseStatus, endedAt: now.toISOString() } as const
  return { type: 'CaseHumanReviewEnded', data }
}
