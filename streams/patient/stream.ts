import { ownedStream } from '../stream-name.ts'

export const category = 'patient'

export function patientStream(orgId: string, patientId: string): string {
  return ownedStream(category, orgId, patientId)
}
