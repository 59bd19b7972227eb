import { ownedStream } from '../stream-name.ts'

export const category = 'image'

/** Of an image that was declared by itself; one of an assessment stands in the assessment's stream. */
export function imageStream(orgId: string, imageId: string): string {
  return ownedStream(category, orgId, imageId)
}
