import { ownedStream } from '../stream-name.ts'

export const category = 'consent'

/** One stream per patient: the order of the decisions is the order of the stream. */
export function consentStream(orgId: string, patientId: string): string {
  return ownedStream(category, orgId, patientId)
}
