import { defineAggregate, idOfOrganisation } from '../../engine/aggregates/aggregate.ts'
import { caseEvents, type CaseEvent, type CaseStatus, type DiagnosisStatus } from './events.ts'

type Opened = Extract<CaseEvent, { type: 'CaseOpened' }>['data']

interface Diagnosis {
  readonly diagnosisId: string
  readonly findingId: string
  readonly status: DiagnosisStatus
}

/** The diagnoses of the AI from one review, by lesion number. */
type Analysis = ReadonlyMap<number, Diagnosis>

interface HumanReviewOfCase {
  readonly status: 'open' | 'ended'
  /** The assessment that the case had for the product of the task when the review started. */
  readonly assessmentId: string | null
}

type Assignment = Extract<CaseEvent, { type: 'CaseAssessmentAssigned' }>['data']

export type CaseState =
  | { readonly status: 'absent' }
  | ({
      readonly status: CaseStatus
      readonly updatedAt: string
      /** The assessment that a workflow instance requested, if no assessment opened the case. */
      readonly assigned: Assignment | null
      /** By AI review. */
      readonly analyses: ReadonlyMap<string, Analysis>
      /** By task. The case is in review while one of them is open. */
      readonly humanReviews: ReadonlyMap<string, HumanReviewOfCase>
      /** The ids of the clinicians' diagnoses. AI reviews never change them. */
      readonly clinicianDiagnoses: ReadonlySet<string>
    } & Opened)

export type ExistingCase = Exclude<CaseState, { status: 'absent' }>

function evolve(state: CaseState, event: CaseEvent): CaseState {
  if (event.type === 'CaseOpened')
    return {
      status: 'open',
      ...event.data,
      updatedAt: event.data.openedAt,
      assigned: null,
      analyses: new Map(),
      humanReviews: new Map(),
      clinicianDiagnoses: new Set(),
    }
  if (state.status === 'absent') return state
  switch (event.type) {
    case 'CaseAssessmentAssigned': {
      const { assessmentId, assignedAt } = event.data
      return { ...state, assessmentId, assigned: event.data, updatedAt: assignedAt }
    }
    case 'CaseClosed':
      return { ...state, status: 'closed', updatedAt: event.data.closedAt }
    case 'CaseFindingRecorded':
      return { ...state, updatedAt: event.data.recordedAt }
    case 'CaseDiagnosisRecorded': {
      const { source, diagnosisId, recordedAt } = event.data
      if (source === 'ai') return withDiagnosis(state, event.data, 'active', recordedAt)
      return {
        ...state,
        clinicianDiagnoses: new Set(state.clinicianDiagnoses).add(diagnosisId),
        updatedAt: recordedAt,
      }
    }
    case 'CaseDiagnosisSuperseded':
      return withDiagnosis(state, event.data, 'superseded', event.data.supersededAt)
    case 'CaseHumanReviewStarted': {
      const { assessmentId, startedAt } = event.data
      return withHumanReview(state, event.data, { status: 'open', assessmentId }, startedAt)
    }
    case 'CaseHumanReviewEnded': {
      const { assessmentId = null } = state.humanReviews.get(event.data.taskId) ?? {}
      return withHumanReview(state, event.data, { status: 'ended', assessmentId }, event.data.endedAt)
    }
  }
}

function withDiagnosis(
  state: ExistingCase,
  of: Omit<Diagnosis, 'status'> & { readonly aiReviewId: string; readonly lesionNumber: number },
  status: DiagnosisStatus,
  updatedAt: string,
): ExistingCase {
  const { aiReviewId, lesionNumber, diagnosisId, findingId } = of
  const analysis = new Map(state.analyses.get(aiReviewId)).set(lesionNumber, { diagnosisId, findingId, status })
  return { ...state, updatedAt, analyses: new Map(state.analyses).set(aiReviewId, analysis) }
}

function withHumanReview(
  state: ExistingCase,
  { taskId, caseStatus }: { readonly taskId: string; readonly caseStatus: CaseStatus },
  review: HumanReviewOfCase,
  updatedAt: string,
): ExistingCase {
  return { ...state, status: caseStatus, updatedAt, humanReviews: new Map(state.humanReviews).set(taskId, review) }
}

export const cases = defineAggregate({
  category: 'case',
  id: idOfOrganisation,
  events: caseEvents,
  initialState: { status: 'absent' },
  evolve,
})
