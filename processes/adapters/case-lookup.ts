import { memberOf } from '../../platform/outbound/outside-answers.ts'
import { getFromService, type ServiceCalls } from './service-call.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'

/** The patient of a case. Null if the case is unknown or not visible yet: it may appear later. */
export interface CaseLookup {
  patientOf(question: { orgId: TenantId; caseId: string }, signal: AbortSignal): Promise<string | null>
}

export function createCaseLookup(calls: ServiceCalls, baseUrl: string): CaseLookup {
  return {
    async patientOf({ orgId, caseId }, signal) {
      const url = new URL(`${baseUrl}/v1/clinical-api/cases/${caseId}`)
      url.searchParams.set('org_id', orgId)
      const answer = await getFromService(calls, url, signal)
      const patientId = answer.kind === 'answer' ? memberOf(answer.body, 'patient_id') : undefined
      return typeof patientId === 'string' ? patientId : null
    },
  }
}
