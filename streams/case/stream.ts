import { ownedStream } from '../stream-name.ts'

export const category = 'case'

export function caseStream(orgId: string, caseId: string): string {
  return ownedStream(category, orgId, caseId)
}
