import { defineAggregate, idOfOrganisation } from '../aggregate.ts'
import { caseEvents, type CaseEvent, type DiagnosisStatus } from './events.ts'

type Opened = Extract<CaseEvent, { type: 'CaseOpened' }>['data']

interface Diagnosis {
  readonly diagnosisId: string
  readonly findingId: string
  readonly status: DiagnosisStatus
}

/** The results of one AI review, by lesion number. */
type Analysis = ReadonlyMap<number, Diagnosis>

type Assignment = Extract<CaseEvent, { type: 'CaseAssessmentAssigned' }>['data']

export type CaseState =
  | { readonly status: 'absent' }
  | ({
      readonly status: 'open' | 'closed'
      readonly updatedAt: string
      /** The assessment that a workflow instance requested, if no assessment opened the case. */
      readonly assigned: Assignment | null
      /** By AI review. */
      readonly analyses: ReadonlyMap<string, Analysis>
    } & Opened)

export type ExistingCase = Exclude<CaseState, { status: 'absent' }>

function evolve(state: CaseState, event: CaseEvent): CaseState {
  if (event.type === 'CaseOpened')
    return { status: 'open', ...event.data, updatedAt: event.data.openedAt, assigned: null, analyses: new Map() }
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
    case 'CaseDiagnosisRecorded':
      return withDiagnosis(state, event.data, 'active', event.data.recordedAt)
    case 'CaseDiagnosisSuperseded':
      return withDiagnosis(state, event.data, 'superseded', event.data.supersededAt)
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

export const cases = defineAggregate({
  category: 'case',
  id: idOfOrganisation,
  events: caseEvents,
  initialState: { status: 'absent' },
  evolve,
})
