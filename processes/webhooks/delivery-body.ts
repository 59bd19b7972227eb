import { viewOf } from '../../commands/assessments/views.ts'
import { toAssessmentRecord } from '../../platform/records/assessment.ts'
import { signDownloads } from '../../platform/records/download-urls.ts'
import { assessmentFold, type ExistingAssessment } from '../../streams/assessment/state.ts'
import { assessmentStream } from '../../streams/assessment/stream.ts'
import type { PayloadMode } from '../../streams/webhook-subscriptions/events.ts'
import type { ProcessDependencies } from '../dependencies.ts'

type BodyDependencies = Pick<ProcessDependencies, 'store' | 'objects' | 'configuration'>

/**
 * The record as it is now, with addresses signed for this attempt (T21); thin bodies carry id and status only. A test
 * tells of no assessment.
 */
export async function deliveryBody(deps: BodyDependencies, orgId: string, assessmentId: string | null, mode: PayloadMode): Promise<string> {
  if (assessmentId === null) return JSON.stringify({ test: true })
  const view = viewOf(await endedAssessment(deps, orgId, assessmentId))
  if (mode === 'thin') return JSON.stringify({ id: view.id, status: view.status })
  const urls = await signDownloads(deps.objects, view, deps.configuration.downloadUrlTtlSeconds)
  return JSON.stringify(toAssessmentRecord(view, urls))
}

/** One that has ended stays as it is, so that a cached state says it too. */
async function endedAssessment({ store }: BodyDependencies, orgId: string, assessmentId: string): Promise<ExistingAssessment> {
  const stream = assessmentStream(orgId, assessmentId)
  const { state: cached } = await store.load(assessmentFold, stream)
  if (cached.status === 'completed' || cached.status === 'failed') return cached
  const { state } = await store.load(assessmentFold, stream, { fresh: true })
  if (state.status === 'absent') throw new Error('a webhook names an assessment that does not exist')
  return state
}
