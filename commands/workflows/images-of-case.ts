import type { TenantId } from '../../platform/kit/tenants.ts'
import { assessments } from '../../streams/assessment/aggregate.ts'
import { cases } from '../../streams/case/aggregate.ts'
import { images } from '../../streams/image/aggregate.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import type { ImagesOfCase } from './output-errors.ts'

/** The received images of a case among the given ids: its own, and those of its assessment. */
export async function receivedImages(
  store: Pick<EventStore, 'load'>,
  orgId: TenantId,
  caseId: string,
  imageIds: readonly string[],
): Promise<ImagesOfCase> {
  if (imageIds.length === 0) return new Map()
  const own = await Promise.all(
    imageIds.map(async (id) => {
      const { state } = await store.load(images.of(orgId, id))
      return state.status === 'received' && state.caseId === caseId ? [[id, state] as const] : []
    }),
  )
  const { state: ofCase } = await store.load(cases.of(orgId, caseId))
  if (ofCase.status === 'absent' || ofCase.assessmentId === null) return new Map(own.flat())
  const { state: assessment } = await store.load(assessments.of(orgId, ofCase.assessmentId))
  const isSubmitted = assessment.status === 'processing' || assessment.status === 'completed'
  const submitted = isSubmitted ? assessment.images.map((image) => [image.imageId, image] as const) : []
  return new Map([...submitted, ...own.flat()])
}
