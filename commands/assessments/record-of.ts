import { signDownloads, toAssessmentRecord, type AssessmentRecord } from '../../contracts/assessments/record.ts'
import type { ExistingAssessment } from '../../streams/assessment/aggregate.ts'
import type { AssessmentDependencies } from './dependencies.ts'
import { viewOf } from './views.ts'

/** The record as a write answers it, with download addresses signed now; upload addresses where there are any to give. */
export async function recordOf(
  { objects, configuration }: AssessmentDependencies,
  state: ExistingAssessment,
  uploadUrls?: ReadonlyMap<string, string>,
): Promise<AssessmentRecord> {
  const view = viewOf(state)
  const downloadUrls = await signDownloads(objects, view, configuration.downloadUrlTtlSeconds)
  return toAssessmentRecord(view, downloadUrls, uploadUrls)
}
