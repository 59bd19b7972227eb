import type { TenantId } from '../../platform/kit/tenants.ts'
import type { AssessmentState } from '../../streams/assessment/aggregate.ts'

/** The parts of an image key. */
export interface ImageKeyParts {
  /** Day of the storing, from `dayOf`. It shows the age of an object that no event names. */
  readonly day: string
  readonly orgId: TenantId
  /** Id of the assessment, or of the image if it has none. */
  readonly ownerId: string
  readonly imageId: string
  readonly randomPart: string
}

/** The final key of an image. Because of the random part no retry overwrites an object that an event names. */
export function imageKey({ day, orgId, ownerId, imageId, randomPart }: ImageKeyParts): string {
  return `images/${day}/${orgId}/${ownerId}/${imageId}/${randomPart}`
}

/** Whether this is the key of an image of the organisation. */
export function isImageKeyOf(orgId: TenantId, key: string): boolean {
  return /^images\/[\d-]{10}\/([\w-]+)\/[\w-]+\/[\w-]+\/[\w-]+$/.exec(key)?.[1] === orgId
}

/** The UTC day of an instant, as yyyy-mm-dd. */
export function dayOf(instant: Date): string {
  return instant.toISOString().slice(0, 10)
}

/** Keys of the stored images of an assessment. Any other object that was stored for it may be removed. */
export function namedObjects(state: AssessmentState): ReadonlySet<string> {
  if (state.status === 'absent') return new Set()
  return new Set(state.images.flatMap((image) => ('object' in image ? [image.object.key] : [])))
}
