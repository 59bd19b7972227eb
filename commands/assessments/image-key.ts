import { randomBytes } from 'node:crypto'

/** Where an image lies for good. The random part keeps every replay and retry from overwriting what an event names. */
export function newImageKey(orgId: string, assessmentId: string, imageId: string): string {
  return `images/${orgId}/${assessmentId}/${imageId}/${randomBytes(12).toString('hex')}`
}
