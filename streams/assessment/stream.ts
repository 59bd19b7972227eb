import { ownedStream } from '../stream-name.ts'

export const category = 'assessment'

export function assessmentStream(orgId: string, assessmentId: string): string {
  return ownedStream(category, orgId, assessmentId)
}
