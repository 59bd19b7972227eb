/** Where an image lies for good. The random part keeps every replay and retry from overwriting what an event names. */
export function imageKey(orgId: string, assessmentId: string, imageId: string, randomPart: string): string {
  return `images/${orgId}/${assessmentId}/${imageId}/${randomPart}`
}
