import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { created, written } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/http/problems.ts'
import { toWebhookSubscriptionRecord, WebhookSubscriptionRecord } from '../../contracts/webhooks/subscription.ts'
import type { PublicKey } from '../../streams/webhook-subscriptions/events.ts'
import { webhookSubscriptions, type WebhookSubscriptionsState } from '../../streams/webhook-subscriptions/aggregate.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { answeringRefusals } from '../handling/refusals.ts'
import { onceByKey } from '../handling/once-by-key.ts'
import { SubscribeWebhookBody } from './bodies.ts'
import { receiverUrlCheck } from './receiver-url.ts'
import { executeWithSecret, secretMember } from './secrets.ts'
import { duplicateOf, subscribeWebhook } from './subscribe-webhook.ts'
import { viewOf } from './views.ts'

const answering = answeringRefusals({
  'subscription-deleted': {
    code: 'idempotency-key-reused',
    detail: 'What this key created was deleted. Use a fresh key.',
  },
})

export function subscribeRoute(app: ServiceApp, deps: CommandDependencies): void {
  const { store, vault, configuration, now } = deps
  const checkUrl = receiverUrlCheck(configuration)

  app.post(
    '/webhook-subscriptions',
    {
      schema: {
        operationId: 'subscribeWebhook',
        summary: 'Subscribe an address to assessment events',
        description:
          'The answer of a 201 and that of a rotation alone carry `secret`. The same address and events again: 200.',
        querystring: OrgQuery,
        body: SubscribeWebhookBody,
        response: answers({ 200: WebhookSubscriptionRecord, 201: WebhookSubscriptionRecord }, [
          'webhook-url-forbidden',
          'subscription-limit',
          ...keyProblems,
        ]),
      },
      config: { access: { scopes: ['webhooks:write'] }, hasEtag: true },
    },
    async (request, reply) => {
      const { body, caller, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      checkUrl(body.url)
      const keyed = keyedRequest(request, orgId, vault, body)
      const {
        event_types: eventTypes,
        payload_mode: payloadMode = 'full',
        signature_schemes: signatureSchemes = ['v1', 'v1a'],
      } = body
      const asked = { url: body.url, eventTypes, description: body.description ?? null, payloadMode, signatureSchemes }
      // The first secret has the subscription's id: a repeat after a crash between vault and stream meets it.
      const ids = { subscriptionId: keyed.id, secretId: keyed.id, organisationId: orgId }
      const command = { ...ids, ...asked, now: now(), fingerprint: keyed.fingerprint }
      const decide = (publicKey: PublicKey | null) => (state: WebhookSubscriptionsState) =>
        answering(subscribeWebhook({ ...command, publicKey }, state))
      const target = webhookSubscriptions.of(orgId)
      const context = commandContext(request, { orgId })
      const hasHappened = async () => {
        const { subscriptions, deleted } = (await store.load(target)).state
        return subscriptions.has(keyed.id) || deleted.has(keyed.id)
      }
      const owner = { orgId, ownerId: keyed.id, ownerStream: target.stream, hasHappened }
      const done = await onceByKey(deps, keyed, owner, context, () =>
        executeWithSecret(deps, target, { secretId: keyed.id, schemes: () => signatureSchemes, decide }, context),
      )

      const own = done.state.subscriptions.get(keyed.id)
      if (own === undefined) {
        const duplicate = duplicateOf(command, done.state)
        if (duplicate === undefined) throw problem('internal-error')
        return written(reply, {
          body: toWebhookSubscriptionRecord(viewOf(duplicate)),
          position: done.reached,
          revision: BigInt(duplicate.revision),
          projectors: ['webhook_subscriptions'],
        })
      }
      // A repeat after a rotation is not told the secret that was replaced.
      const isCurrent = own.secrets[0].secretId === keyed.id
      const secret = isCurrent ? await secretMember(vault, own, keyed.id) : undefined
      return created(reply, {
        body: toWebhookSubscriptionRecord(viewOf(own), secret),
        location: `/webhook-subscriptions/${keyed.id}`,
        position: done.reached,
        revision: BigInt(own.revision),
        projectors: ['webhook_subscriptions'],
        isReplayed: done.events.length === 0,
      })
    },
  )
}
