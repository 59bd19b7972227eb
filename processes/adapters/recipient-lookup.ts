import { isUuid } from '../../platform/http/formats.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import { memberOf } from '../../platform/outbound/outside-answers.ts'
import { callService, type ServiceCalls, type ServiceReply } from './service-call.ts'

/** An active member of the organisation. */
export interface Recipient {
  readonly userId: string
  readonly email: string
  /** BCP 47, null if the user has none. */
  readonly locale: string | null
}

export type RecipientAnswer =
  | { readonly kind: 'found'; readonly recipient: Recipient }
  /** No member of the organisation, not active, or erased. */
  | { readonly kind: 'not-found' }
  /** No reliable answer. `status` is null if there was none at all. `isOfOne`: the record of this user cannot be read. */
  | { readonly kind: 'unavailable'; readonly status: number | null; readonly isOfOne: boolean }

/** Asks the users service each time, never a cache: nothing is sent to a user who left a moment ago. */
export interface RecipientLookup {
  ofUser(question: { orgId: TenantId; userId: string }, signal: AbortSignal): Promise<RecipientAnswer>
  /** The only active member who is this clinical patient. */
  ofPatient(question: { orgId: TenantId; patientId: string }, signal: AbortSignal): Promise<RecipientAnswer>
}

export function createRecipientLookup(calls: ServiceCalls, baseUrl: string): RecipientLookup {
  async function ask(path: string, orgId: TenantId, signal: AbortSignal): Promise<RecipientAnswer> {
    const url = new URL(`${baseUrl}/v1/user-management/users/${path}/contact`)
    url.searchParams.set('org_id', orgId)
    const headers = { 'cache-control': 'no-cache' }
    return answerOf(await callService(calls, url, { headers }, signal))
  }
  return {
    ofUser: async ({ orgId, userId }, signal) => (isUuid(userId) ? ask(userId, orgId, signal) : { kind: 'not-found' }),
    ofPatient: ({ orgId, patientId }, signal) =>
      ask(`by-clinical-patient/${encodeURIComponent(patientId)}`, orgId, signal),
  }
}

function answerOf(reply: ServiceReply | null): RecipientAnswer {
  if (reply?.status === 404 || reply?.status === 410) return { kind: 'not-found' }
  if (reply?.status !== 200) {
    const isOfOne = memberOf(reply?.body, 'code') === 'record-unreadable'
    return { kind: 'unavailable', status: reply?.status ?? null, isOfOne }
  }
  const { body } = reply
  const [userId, email, locale] = [memberOf(body, 'userId'), memberOf(body, 'email'), memberOf(body, 'locale')]
  if (typeof userId !== 'string') return { kind: 'unavailable', status: 200, isOfOne: false }
  if (memberOf(body, 'status') !== 'active' || typeof email !== 'string') return { kind: 'not-found' }
  return { kind: 'found', recipient: { userId, email, locale: typeof locale === 'string' ? locale : null } }
}
