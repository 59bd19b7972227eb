import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { problem } from '../../platform/http/problems.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { nameShown, requireLiving } from '../../platform/http/shown-content.ts'
import { personal, type PersonalCategory } from '../../platform/kit/personal-content.ts'
import { openBytes } from '../../platform/kit/sealed-bytes.ts'
import type { TenantId } from '../../platform/kit/tenants.ts'
import type { ObjectStore } from '../../platform/storage/object-store.ts'
import { aiReviewAccesses } from '../../streams/ai-review-access/aggregate.ts'
import type { AiReviewAccessEvent } from '../../streams/ai-review-access/events.ts'
import { aiReviews } from '../../streams/ai-review/aggregate.ts'
import type { StoredObject } from '../../engine/aggregates/types.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute } from '../../engine/commands/execute.ts'

interface RawDependencies extends CommandDependencies {
  readonly objects: Pick<ObjectStore, 'get'>
}

const ProviderResponse = Type.Object(
  {},
  {
    $id: 'ProviderResponse',
    additionalProperties: true,
    description: 'The answer of the provider, unchanged',
    ...personal('raw_response'),
  },
)

const rawResponse = new Set<PersonalCategory>(['raw_response'])

/** A read that leaves a fact: who got the response. So it is among the commands. */
export function rawResponseRoute(app: ServiceApp, deps: RawDependencies): void {
  const { store } = deps

  app.get(
    '/ai-reviews/:id/raw',
    {
      schema: {
        operationId: 'getRawAiReview',
        summary: 'The decrypted response of the provider, for audits',
        description:
          'Each read is recorded with its client and its actor before the answer. Only administrative clients hold the scope.',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery(),
        response: answers({ 200: ProviderResponse }, [
          'ai-review-result-missing',
          'subject-erased',
          'object-store-unavailable',
        ]),
      },
      config: { access: { scopes: ['ai-review:read-raw'] }, showsPersonal: true },
    },
    async (request, reply) => {
      const tenant = tenantOf(request.caller, namedOrg(request.query))
      const aiReviewId = request.params.id.toLowerCase()
      const { state } = await store.load(aiReviews.of(tenant, aiReviewId))
      if (state.status === 'absent') throw problem('not-found')
      const { rawResponse: stored, patientId } = state
      if (stored === null || patientId === null) throw problem('ai-review-result-missing')
      requireLiving(request, tenant, { patientId })
      const bytes = await decrypted(deps, tenant, patientId, stored)
      if (request.method === 'GET') {
        const { clientId, actor } = request.caller
        const data = { aiReviewId, clientId, userId: actor?.auditId ?? null, readAt: deps.now().toISOString() }
        const decide = (): AiReviewAccessEvent[] => [{ type: 'AiReviewRawRead', data }]
        const context = commandContext(request, { orgId: tenant })
        await execute(store, aiReviewAccesses.of(tenant, aiReviewId), decide, context)
      }
      nameShown(request, tenant, [{ content: rawResponse, persons: { patientId } }])
      return reply.type('application/json; charset=utf-8').send(bytes)
    },
  )
}

/** The tag of the encryption covers all bytes, so all are checked before the first one is sent. */
async function decrypted(
  { vault, objects }: RawDependencies,
  orgId: TenantId,
  patientId: string,
  { key: place }: StoredObject,
): Promise<Buffer> {
  const key = await vault.subjectKeyForReading(orgId, patientId)
  if (key === 'destroyed') throw problem('subject-erased')
  return openBytes(key, place, await objects.get(place))
}
