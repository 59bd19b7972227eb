import { v5 } from 'uuid'
import type { Lesion } from '../../streams/ai-review/events.ts'
import type { CaseEvent } from '../../streams/case/events.ts'
import type { CaseState } from '../../streams/case/aggregate.ts'
import { refused, type Decision } from '../../engine/commands/decision.ts'
import type { LesionBatch } from './lesion-batches.ts'

export interface RecordFindings {
  readonly aiReviewId: string
  readonly batch: LesionBatch
  /** Number of lesions of the whole review. */
  readonly lesionCount: number
  readonly bodySiteId: string | null
  readonly now: Date
}

/**
 * One finding for each lesion of an AI review, and one diagnosis for each finding (specification 6), whatever the
 * outcome of its assessment.
 */
export function recordFindings(command: RecordFindings, state: CaseState): Decision<CaseEvent, 'not-found'> {
  if (state.status === 'absent') return refused('not-found')
  const known = state.analyses.get(command.aiReviewId)
  return command.batch.lesions.flatMap((lesion, index) => {
    if (known?.has(lesion.lesionNumber) === true) return []
    return pairOf(command, state.caseId, lesion, command.batch.before + index + 1)
  })
}

function pairOf(
  { aiReviewId, lesionCount, bodySiteId, now }: RecordFindings,
  caseId: string,
  lesion: Lesion,
  ordinal: number,
): CaseEvent[] {
  const { lesionNumber, coordinates, category } = lesion
  const findingId = v5(String(lesionNumber), aiReviewId)
  const found = { caseId, findingId, source: 'ai' as const, aiReviewId, lesionNumber, recordedAt: now.toISOString() }
  return [
    { type: 'CaseFindingRecorded', data: { ...found, bodySiteId, coordinates, ordinal, lesionCount } },
    {
      type: 'CaseDiagnosisRecorded',
      data: {
        ...found,
        taskId: null,
        diagnosisId: v5('diagnosis', findingId),
        icd10: { code: lesion.suspectedDiagnosisIcd10Code, term: lesion.suspectedDiagnosisIcd10Term },
        snomed: { code: lesion.suspectedDiagnosisSnomedCode, term: lesion.suspectedDiagnosisSnomedTerm },
        category,
        patientId: null,
        correction: null,
      },
    },
  ]
}
