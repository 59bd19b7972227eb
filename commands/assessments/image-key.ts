import type { TenantId } from '../../platform/kit/tenants.ts'
import type { AssessmentState } from '../../streams/assessment/aggregate.ts'

/** What a key of an image is made of. */
export interface ImageKeyParts {
  /** When it is stored, as `dayOf` writes it: tells how old an object is that no event names. */
  readonly day: string
  readonly orgId: TenantId
  /** What the image belongs to. */
  readonly ownerId: string
  readonly imageId: string
  readonly randomPart: string
}

/** Where an image lies for good. The random part keeps every replay and retry from overwriting what an event names. */
export function imageKey({ day, orgId, ownerId, imageId, randomPart }: ImageKeyParts): string {
  return `images/${day}/${orgId}/${ownerId}/${imageId}/${randomPart}`
}

/** Whether a key is that of an image of this organisation. */
export function isImageKeyOf(orgId: TenantId, key: string): boolean {
  return /^images\/[\d-]{10}\/([\w-]+)\/[\w-]+\/[\w-]+\/[\w-]+$/.exec(key)?.[1] === orgId
}

/** The day of an instant (UTC), as yyyy-mm-dd. */
export function dayOf(instant: Date): string {
  return instant.toISOString().slice(0, 10)
}

/** The keys of the stored images that an assessment names: whatever else was stored for it may be removed. */
export function namedObjects(state: AssessmentState): ReadonlySet<string> {
  if (state.status === 'absent') return new Set()
  return new Set(state.images.flatMap((image) => ('object' in image ? [image.object.key] : [])))
}
