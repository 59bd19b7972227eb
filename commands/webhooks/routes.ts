import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { created, written } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import { Nullable } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { checkOutboundUrl, parseEgressAllow } from '../../platform/outbound-addresses.ts'
import { problem } from '../../platform/problems.ts'
import { toWebhookSubscriptionRecord, WebhookSubscriptionRecord } from '../../platform/records/webhook-subscription.ts'
import { webhookSubscriptionsFold } from '../../streams/webhook-subscriptions/state.ts'
import { webhookSubscriptionsStream } from '../../streams/webhook-subscriptions/stream.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { execute } from '../handling/execute.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { onceByKey } from '../handling/once-by-key.ts'
import { duplicateOf, subscribeWebhook } from './subscribe-webhook.ts'

export const SubscribeWebhookBody = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 2048 }),
    event_types: Type.Array(Type.Enum(['assessment.completed', 'assessment.failed']), { minItems: 1, maxItems: 20 }),
    description: Type.Optional(Nullable(Type.String({ maxLength: 255 }))),
    payload_mode: Type.Optional(Type.Enum(['full', 'thin'])),
  },
  { $id: 'SubscribeWebhookBody', additionalProperties: false },
)

export function webhookWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store, vault, configuration, now } = deps
  const outbound = { profile: configuration.profile, allow: parseEgressAllow(configuration.egressAllow) }

  app.post(
    '/webhook-subscriptions',
    {
      schema: {
        operationId: 'subscribeWebhook',
        summary: 'Subscribe an address to assessment events',
        description: 'The answer of a 201 is the only one that carries `secret`. The same address and events again: 200.',
        querystring: OrgQuery,
        body: SubscribeWebhookBody,
        response: answers({ 200: WebhookSubscriptionRecord, 201: WebhookSubscriptionRecord }, [
          'webhook-url-forbidden',
          'subscription-limit',
          ...keyProblems,
        ]),
      },
      config: { access: { scopes: ['webhooks:write'] } },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      checkUrl(body.url)
      const keyed = keyedRequest(request, orgId, vault, body)
      const command = {
        subscriptionId: keyed.id,
        organisationId: orgId,
        url: body.url,
        eventTypes: body.event_types,
        description: body.description ?? null,
        payloadMode: body.payload_mode ?? ('full' as const),
        signatureSchemes: ['v1' as const],
        secretId: keyed.id,
        publicKey: null,
        now: now(),
        fingerprint: keyed.fingerprint,
      }
      const target = { fold: webhookSubscriptionsFold, stream: webhookSubscriptionsStream(orgId) }
      const context = commandContext(request, { orgId })
      const hasHappened = async () =>
        (await store.load(target.fold, target.stream, { fresh: true })).state.subscriptions.has(keyed.id)
      const owner = { orgId, ownerId: keyed.id, ownerStream: target.stream, hasHappened }
      const done = await onceByKey(deps, keyed, owner, context, () =>
        execute(store, target, (state) => subscribeWebhook(command, state), context),
      )

      const own = done.state.subscriptions.get(keyed.id)
      if (own === undefined) {
        const duplicate = duplicateOf(command, done.state)
        if (duplicate === undefined) throw problem('internal-error')
        return written(reply, { body: toWebhookSubscriptionRecord(duplicate), projectors: ['webhook_subscriptions'] })
      }
      // Made when it is first asked for, and durable then: the answer and the deliveries get the same one.
      const secret = `whsec_${Buffer.from(await vault.secret('webhook', keyed.id)).toString('base64')}`
      return created(reply, {
        body: toWebhookSubscriptionRecord(own, secret),
        location: `/webhook-subscriptions/${keyed.id}`,
        position: done.reached,
        projectors: ['webhook_subscriptions'],
        isReplayed: done.events.length === 0,
      })
    },
  )

  function checkUrl(url: string): void {
    const checked = checkOutboundUrl(url, outbound)
    if ('url' in checked) return
    const detail = `is not allowed: ${checked.refused.replaceAll('_', ' ')}`
    throw problem('webhook-url-forbidden', { errors: [{ pointer: '/url', detail, code: checked.refused }] })
  }
}
