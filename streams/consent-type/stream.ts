import { v5 } from 'uuid'
import { ownedStream } from '../stream-name.ts'

export const category = 'consent_type'

const codes = '5b0f0c52-6a53-5d0e-9a55-2f6f3f1f7d11'

/** The code is unique and immutable in its organisation, so the id follows from it: NoStream is the uniqueness check. */
export function consentTypeIdOf(orgId: string, code: string): string {
  return v5(`${orgId}/${code}`, codes)
}

export function consentTypeStream(orgId: string, consentTypeId: string): string {
  return ownedStream(category, orgId, consentTypeId)
}
