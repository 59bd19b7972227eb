import type { ConsentAnswer } from '../../contracts/consent/record.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { memberOf } from '../../platform/outbound/outside-answers.ts'
import { getFromService, type ServiceCalls } from './service-call.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

interface CheckedConsent {
  readonly answer: ConsentAnswer
  /** The decision in force. Null without one, and if the consent service of others names it in another form. */
  readonly decisionId: string | null
}

/** Reads the consent service each time, never a cache. No answer is no permission. */
export interface ConsentCheck {
  check(question: { orgId: TenantId; patientId: string; code: string }, signal: AbortSignal): Promise<CheckedConsent>
}

const unavailable: CheckedConsent = { answer: 'unavailable', decisionId: null }

export function createConsentCheck(calls: ServiceCalls, baseUrl: string): ConsentCheck {
  return {
    async check({ orgId, patientId, code }, signal) {
      const url = new URL(`${baseUrl}/v1/consent-records`)
      url.search = new URLSearchParams({ patientId, consentTypeCode: code, orgId }).toString()
      const answer = await getFromService(calls, url, signal)
      if (answer.kind !== 'answer') return unavailable
      const status = memberOf(answer.body, 'status')
      if (typeof status !== 'string') return unavailable
      return { answer: status === 'granted' ? 'granted' : 'not-granted', decisionId: decisionIdIn(answer.body) }
    },
  }
}

function decisionIdIn(body: unknown): string | null {
  const id = memberOf(memberOf(body, 'record'), 'id')
  return typeof id === 'string' && isUuid(id) ? id : null
}
