import type { ConsentAnswer } from '../../contracts/consent/record.ts'
import { EventStoreError } from '../../engine/store/errors.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { memberOf } from '../../platform/outbound/outside-answers.ts'
import { getFromService, type ServiceCalls } from './service-call.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { consents } from '../../streams/consent/aggregate.ts'

interface CheckedConsent {
  readonly answer: ConsentAnswer
  /** The decision in force. Null without one, and if the consent service of others names it in another form. */
  readonly decisionId: string | null
}

/** The decision in force of a patient, never from a cache alone. No answer is no permission. */
export interface ConsentCheck {
  check(question: { orgId: TenantId; patientId: string; code: string }, signal: AbortSignal): Promise<CheckedConsent>
}

const unavailable: CheckedConsent = { answer: 'unavailable', decisionId: null }

/** Reads the patient's stream. The answer contains every decision that was recorded before the question. */
export function createConsentRead(store: Pick<EventStore, 'load'>): ConsentCheck {
  return {
    async check({ orgId, patientId, code }) {
      try {
        const { state } = await store.load(consents.of(orgId, patientId))
        const inForce = state.inForce.get(code)
        const answer = inForce?.decision === 'granted' ? 'granted' : 'not-granted'
        return { answer, decisionId: inForce?.consentId ?? null }
      } catch (error) {
        if (error instanceof EventStoreError) return unavailable
        throw error
      }
    },
  }
}

/** Asks a consent service of another host. */
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
