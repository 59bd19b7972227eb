import { loadExisting } from '../../engine/commands/execute.ts'
import { EventStoreError } from '../../engine/store/errors.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { memberOf } from '../../platform/outbound/outside-answers.ts'
import { getFromService, type ServiceCalls } from './service-call.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { cases } from '../../streams/case/aggregate.ts'

/** The patient of a case. Null if the case is unknown or not visible yet: it may appear later. */
export interface CaseLookup {
  patientOf(question: { orgId: TenantId; caseId: string }, signal: AbortSignal): Promise<string | null>
}

/** Reads the stream of the case. Its patient never changes, so a cached state serves. */
export function createCaseRead(store: Pick<EventStore, 'load' | 'presume'>): CaseLookup {
  return {
    async patientOf({ orgId, caseId }) {
      try {
        const state = await loadExisting(store, cases.of(orgId, caseId))
        return state.status === 'absent' ? null : state.patientId
      } catch (error) {
        if (error instanceof EventStoreError) return null
        throw error
      }
    },
  }
}

/** Asks a clinical service of another host. The key of the patient, and its consents, are named in lower case. */
export function createCaseLookup(calls: ServiceCalls, baseUrl: string): CaseLookup {
  return {
    async patientOf({ orgId, caseId }, signal) {
      const url = new URL(`${baseUrl}/v1/clinical-api/cases/${caseId}`)
      url.searchParams.set('org_id', orgId)
      const answer = await getFromService(calls, url, signal)
      const patientId = answer.kind === 'answer' ? memberOf(answer.body, 'patient_id') : undefined
      return typeof patientId === 'string' && isUuid(patientId) ? patientId.toLowerCase() : null
    },
  }
}
