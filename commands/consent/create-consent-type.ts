import type { ConsentTypeEvent } from '../../streams/consent-type/events.ts'
import type { ConsentTypeState } from '../../streams/consent-type/aggregate.ts'
import { refuse, type Decision } from '../handling/decision.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

export interface CreateConsentType {
  readonly consentTypeId: string
  readonly organisationId: TenantId
  readonly code: string
  readonly displayName: string
  readonly description: string | null
  readonly legalBasis: string
  readonly required: boolean
  readonly now: Date
  /** Of key and body together: the id is not fixed by the key, so the same body under another key is another request. */
  readonly fingerprint: string | null
}

/** The id follows from the code, so a stream that exists means that the code is taken, also that of a deleted type, unless by this very request. */
export function createConsentType(command: CreateConsentType, state: ConsentTypeState): Decision<ConsentTypeEvent> {
  const { now, ...data } = command
  if (state.status !== 'absent') {
    const isRepeat = command.fingerprint !== null && command.fingerprint === state.fingerprint
    return isRepeat ? [] : refuse('consent-type-code-in-use')
  }
  return [{ type: 'ConsentTypeCreated', data: { ...data, createdAt: now.toISOString() } }]
}
