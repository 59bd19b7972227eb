import { problem } from '../../platform/http/problems.ts'
import { admittedRevisions } from '../../platform/http/replies.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { toWebhookSubscriptionRecord, WebhookSubscriptionRecord } from '../../contracts/webhooks/subscription.ts'
import { webhookSubscriptionsProjector } from '../../projections/webhooks/webhook-subscriptions.projector.ts'
import type { PublicKey } from '../../streams/webhook-subscriptions/events.ts'
import { webhookSubscriptions, type WebhookSubscriptionsState } from '../../streams/webhook-subscriptions/aggregate.ts'
import { changed, createdOrFound, deleted } from '../../engine/commands/command-replies.ts'
import { commandRoute } from '../../engine/commands/command-route.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { onceByKey } from '../../engine/commands/once-by-key.ts'
import {
  ChangeWebhookSubscriptionBody,
  receiverUrlCheck,
  RotateWebhookSecretBody,
  SubscribeWebhookBody,
} from './bodies.ts'
import { changeSubscription, deleteSubscription, isAdmitted } from './change-subscription.ts'
import { executeRotation, usualGraceSeconds } from './execute-rotation.ts'
import { executeWithSecret, secretMember } from './secrets.ts'
import { duplicateOf, subscribeWebhook } from './subscribe-webhook.ts'
import { viewOf } from './views.ts'

const usual = { access: { scopes: ['webhooks:write'] }, readBy: [webhookSubscriptionsProjector] } as const

export function webhookWriteRoutes(app: ServiceApp, deps: CommandDependencies): void {
  const { store, vault } = deps
  const checkUrl = receiverUrlCheck(deps.configuration)

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/webhook-subscriptions',
    operationId: 'subscribeWebhook',
    summary: 'Subscribe an address to assessment events',
    description:
      'Only a 201 and the answer of a rotation contain `secret`. The same address and events again return 200.',
    body: SubscribeWebhookBody,
    hasEtag: true,
    reply: createdOrFound(WebhookSubscriptionRecord, ({ id }) => `/webhook-subscriptions/${id}`),
    refusals: {
      'subscription-deleted': {
        code: 'idempotency-key-reused',
        detail: 'The subscription that this key created was deleted. Use a new key.',
      },
    },
    problems: ['webhook-url-forbidden', 'subscription-limit'],
    handle: async ({ tenant, body, keyed, now, context, answering }) => {
      checkUrl(body.url)
      const { payload_mode: payloadMode = 'full', signature_schemes: signatureSchemes = ['v1', 'v1a'] } = body
      const { url, event_types: eventTypes, description = null } = body
      const requested = { url, eventTypes, description, payloadMode, signatureSchemes }
      // The first secret has the subscription's id, so a repeat after a crash between vault and stream finds it.
      const ids = { subscriptionId: keyed.id, secretId: keyed.id, organisationId: tenant }
      const command = { ...ids, ...requested, now, fingerprint: keyed.fingerprint }
      const decide = (publicKey: PublicKey | null) => (state: WebhookSubscriptionsState) =>
        answering(subscribeWebhook({ ...command, publicKey }, state))
      const target = webhookSubscriptions.of(tenant)
      const hasHappened = async () => {
        const { subscriptions, deleted: gone } = (await store.load(target)).state
        return subscriptions.has(keyed.id) || gone.has(keyed.id)
      }
      const owner = { orgId: tenant, ownerId: keyed.id, ownerStream: target.stream, hasHappened }
      const done = await onceByKey(deps, keyed, owner, context, () =>
        executeWithSecret(deps, target, { secretId: keyed.id, schemes: () => signatureSchemes, decide }, context),
      )

      const own = done.state.subscriptions.get(keyed.id)
      if (own === undefined) {
        const duplicate = duplicateOf(command, done.state)
        if (duplicate === undefined) throw problem('internal-error')
        const record = toWebhookSubscriptionRecord(viewOf(duplicate))
        return { ...done, record, revision: BigInt(duplicate.revision), isFound: true, isReplayed: false }
      }
      // A repeat after a rotation does not return the secret that was replaced.
      const isCurrent = own.secrets[0].secretId === keyed.id
      const secret = isCurrent ? await secretMember(vault, own, keyed.id) : undefined
      return { ...done, record: toWebhookSubscriptionRecord(viewOf(own), secret), revision: BigInt(own.revision) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'PATCH',
    path: '/webhook-subscriptions/:id',
    operationId: 'changeWebhookSubscription',
    summary: 'Change a webhook subscription, or switch it off and on',
    description: 'Omitted members stay unchanged. Disabling a subscription cancels its pending deliveries.',
    body: ChangeWebhookSubscriptionBody,
    hasEtag: true,
    ifMatch: 'record',
    reply: changed(WebhookSubscriptionRecord),
    problems: ['webhook-url-forbidden', 'webhook-subscription-duplicate'],
    handle: async ({ tenant, params, body, now, run, request }) => {
      const { url, event_types: eventTypes, description, payload_mode: payloadMode, status } = body
      if (url !== undefined) checkUrl(url)
      const requested = { url, eventTypes, description, payloadMode, status, admitted: admittedRevisions(request) }
      const command = { subscriptionId: params.id, ...requested, now }
      const done = await run(webhookSubscriptions.of(tenant), (state) => changeSubscription(command, state))
      const own = done.state.subscriptions.get(params.id)
      if (own === undefined) throw problem('internal-error')
      if (done.events.length === 0 && !isAdmitted(command, own)) throw problem('precondition-failed')
      return { ...done, record: toWebhookSubscriptionRecord(viewOf(own)), revision: BigInt(own.revision) }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'DELETE',
    path: '/webhook-subscriptions/:id',
    operationId: 'deleteWebhookSubscription',
    summary: 'Delete a webhook subscription permanently',
    description: 'Its pending deliveries are cancelled.',
    ifMatch: 'record',
    reply: deleted,
    handle: async ({ tenant, params, now, run, request }) => {
      const command = { subscriptionId: params.id, admitted: admittedRevisions(request), now }
      const done = await run(webhookSubscriptions.of(tenant), (state) => deleteSubscription(command, state))
      return { ...done, record: null }
    },
  })

  commandRoute(app, deps, {
    ...usual,
    method: 'POST',
    path: '/webhook-subscriptions/:id/rotate-secret',
    operationId: 'rotateWebhookSecret',
    summary: 'Replace the secret and the key pair that sign deliveries',
    description: 'The previous secret also signs for `grace_seconds`. The answer contains `secret`.',
    body: RotateWebhookSecretBody,
    mayLackBody: true,
    hasEtag: true,
    reply: changed(WebhookSubscriptionRecord),
    problems: ['too-many-secrets'],
    handle: async ({ tenant, params, body, keyed, now, context, answering }) => {
      const { grace_seconds: graceSeconds = usualGraceSeconds } = body
      const ids = { subscriptionId: params.id, secretId: keyed.idOf('secret') }
      const rotation = { ...ids, tenant, graceSeconds, request: keyed.causing, now, answering }
      const { done, own, secret } = await executeRotation(deps, rotation, context)
      return { ...done, record: toWebhookSubscriptionRecord(viewOf(own), secret), revision: BigInt(own.revision) }
    },
  })
}
