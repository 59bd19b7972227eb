import type { ConsentAnswer } from '../../contracts/consent/record.ts'
import { memberOf } from '../../platform/outbound/outside-answers.ts'
import { getFromService, type ServiceCalls } from './service-call.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/** Reads the consent service each time, never a cache. No answer is no permission. */
export interface ConsentCheck {
  check(question: { orgId: TenantId; patientId: string; code: string }, signal: AbortSignal): Promise<ConsentAnswer>
}

export function createConsentCheck(calls: ServiceCalls, baseUrl: string): ConsentCheck {
  return {
    async check({ orgId, patientId, code }, signal) {
      const url = new URL(`${baseUrl}/v1/consent-records`)
      url.search = new URLSearchParams({ patientId, consentTypeCode: code, orgId }).toString()
      const answer = await getFromService(calls, url, signal)
      if (answer.kind !== 'answer') return 'unavailable'
      const status = memberOf(answer.body, 'status')
      if (typeof status !== 'string') return 'unavailable'
      return status === 'granted' ? 'granted' : 'not-granted'
    },
  }
}
