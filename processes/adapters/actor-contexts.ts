import { Check } from 'typebox/schema'
import { ContextClaims } from '../../contracts/users/context.ts'
import type { AskContext, ContextAnswer } from '../../contracts/users/client.ts'
import { isUuid } from '../../platform/http/formats.ts'
import { EgressError } from '../../platform/outbound/egress-error.ts'
import { memberOf } from '../../platform/outbound/outside-answers.ts'
import { callService, type ServiceCalls, type ServiceReply } from './service-call.ts'

const timeoutMs = 5_000
const unknownActor = { kind: 'refused', code: 'actor-context-invalid' } as const

/** Asks the users service of another host. Its answer is current, or a 503. */
export function createActorContexts(calls: ServiceCalls, baseUrl: string): AskContext {
  return async ({ userId, orgId }) => {
    if (!isUuid(userId) || !isUuid(orgId)) return unknownActor
    const url = new URL(`${baseUrl}/v1/user-management/users/${userId}/context`)
    url.search = new URLSearchParams({ org_id: orgId }).toString()
    try {
      // The answer is kept until an event. An older one could lack a change whose event has come already.
      const headers = { 'cache-control': 'no-cache' }
      return answerOf(await callService(calls, url, { headers }, AbortSignal.timeout(timeoutMs)))
    } catch (error) {
      if (error instanceof EgressError) return { kind: 'unavailable' }
      throw error
    }
  }
}

function answerOf(reply: ServiceReply | null): ContextAnswer {
  if (reply?.status === 404 || reply?.status === 410) return unknownActor
  if (reply?.status === 403 && memberOf(reply.body, 'code') === 'user-not-active')
    return { kind: 'refused', code: 'user-not-active' }
  if (reply?.status !== 200 || !Check(ContextClaims, reply.body)) return { kind: 'unavailable' }
  const { user_id: userId, org_id: orgId, user_type: userType, role, permissions, product_ids: productIds } = reply.body
  return { kind: 'actor', actor: { userId, orgId, userType, role, permissions: new Set(permissions), productIds } }
}
