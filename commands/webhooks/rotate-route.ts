import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { tenantOf } from '../../platform/http/access.ts'
import { answers } from '../../platform/http/answers.ts'
import { Uuid } from '../../platform/http/members.ts'
import { namedOrg, OrgQuery } from '../../platform/http/parameters.ts'
import { written } from '../../platform/http/replies.ts'
import { commandContext } from '../../platform/http/request-context.ts'
import type { ServiceApp } from '../../platform/http/service.ts'
import { problem } from '../../platform/http/problems.ts'
import { toWebhookSubscriptionRecord, WebhookSubscriptionRecord } from '../../contracts/webhooks/subscription.ts'
import type { PublicKey } from '../../streams/webhook-subscriptions/events.ts'
import {
  liveSecrets,
  webhookSubscriptions,
  type WebhookSubscriptionsState,
} from '../../streams/webhook-subscriptions/aggregate.ts'
import type { CommandDependencies } from '../handling/dependencies.ts'
import { keyedRequest, keyProblems } from '../handling/keyed-request.ts'
import { RotateWebhookSecretBody } from './bodies.ts'
import { keyedRotationOf, rotateSecret } from './rotate-secret.ts'
import { executeWithSecret, secretMember } from './secrets.ts'
import { viewOf } from './views.ts'

const usualGraceSeconds = 86_400

export function rotateRoute(app: ServiceApp, deps: CommandDependencies): void {
  const { vault, now } = deps

  app.post(
    '/webhook-subscriptions/:id/rotate-secret',
    {
      preValidation: takesNoBodyForAnEmptyOne,
      schema: {
        operationId: 'rotateWebhookSecret',
        summary: 'Replace the secret and the key pair that sign deliveries',
        description:
          'The one before goes on signing beside the new one for `grace_seconds`. The answer carries `secret`.',
        params: Type.Object({ id: Uuid }),
        querystring: OrgQuery,
        body: RotateWebhookSecretBody,
        response: answers({ 200: WebhookSubscriptionRecord }, ['too-many-secrets', ...keyProblems]),
      },
      config: { access: { scopes: ['webhooks:write'] }, hasEtag: true, mayLackBody: true },
    },
    async (request, reply) => {
      const { body, caller, params, query } = request
      const orgId = tenantOf(caller, namedOrg(query))
      const subscriptionId = params.id.toLowerCase()
      const keyed = keyedRequest(request, orgId, vault, body)
      const secretId = keyed.idOf('secret')
      const { grace_seconds: graceSeconds = usualGraceSeconds } = body
      const command = { subscriptionId, secretId, graceSeconds, request: keyed.causing, now: now() }
      const decide = (publicKey: PublicKey | null) => (state: WebhookSubscriptionsState) =>
        rotateSecret({ ...command, publicKey }, state)
      const schemes = ({ subscriptions }: WebhookSubscriptionsState) =>
        subscriptions.get(subscriptionId)?.signatureSchemes ?? []
      const target = webhookSubscriptions.of(orgId)
      const done = await executeWithSecret(
        deps,
        target,
        { secretId, schemes, decide },
        commandContext(request, { orgId }),
      )

      const own = done.state.subscriptions.get(subscriptionId)
      if (own === undefined) throw problem('internal-error')
      const made = keyedRotationOf(command, own)?.secretId ?? secretId
      // A late repeat is not told a secret that signs no more.
      const isLive = liveSecrets(own, now()).some((secret) => secret.secretId === made)
      return written(reply, {
        body: toWebhookSubscriptionRecord(viewOf(own), isLive ? await secretMember(vault, own, made) : undefined),
        position: done.reached,
        revision: BigInt(own.revision),
        projectors: ['webhook_subscriptions'],
        isReplayed: done.events.length === 0,
      })
    },
  )
}

async function takesNoBodyForAnEmptyOne(request: FastifyRequest): Promise<void> {
  if (request.body === undefined) request.body = {}
}
