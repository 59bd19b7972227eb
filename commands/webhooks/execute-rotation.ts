import { problem } from '../../platform/http/problems.ts'
import type { CommandContext, TenantId } from '../../platform/kit/tenants.ts'
import type { PublicKey, WebhookSubscriptionEvent } from '../../streams/webhook-subscriptions/events.ts'
import {
  liveSecrets,
  webhookSubscriptions,
  type WebhookSubscription,
  type WebhookSubscriptionsState,
} from '../../streams/webhook-subscriptions/aggregate.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import type { Executed } from '../../engine/commands/execute.ts'
import type { AnsweredDecision } from '../../engine/commands/refusals.ts'
import { keyedRotationOf, rotateSecret, type RotateSecret } from './rotate-secret.ts'
import { destroyStored, executeWithSecret, secretMember } from './secrets.ts'

/** Seconds for which the previous secret also signs, unless the caller says otherwise. */
export const usualGraceSeconds = 86_400

export interface Rotation extends Omit<RotateSecret, 'publicKey'> {
  readonly tenant: TenantId
  readonly answering: (decision: ReturnType<typeof rotateSecret>) => AnsweredDecision<WebhookSubscriptionEvent>
}

export interface Rotated {
  readonly done: Executed<WebhookSubscriptionsState, WebhookSubscriptionEvent>
  readonly own: WebhookSubscription
  /** `whsec_…`. Undefined if the scheme of the subscription has none, or in a late repeat if it no longer signs. */
  readonly secret: string | undefined
}

/**
 * Replaces secret and key pair of a webhook, for the route and for `keys rotate`. The vault destroys those that have ended, so
 * their number does not grow with rotations. What a crash leaves, a repeat or the deletion of the webhook destroys.
 * @throws Problem the decision's refusal
 */
export async function executeRotation(
  { store, vault, now: clock }: Pick<CommandDependencies, 'store' | 'vault' | 'now'>,
  { tenant, answering, ...command }: Rotation,
  context: CommandContext,
): Promise<Rotated> {
  const { subscriptionId, secretId } = command
  const decide = (publicKey: PublicKey | null) => (state: WebhookSubscriptionsState) =>
    answering(rotateSecret({ ...command, publicKey }, state))
  const schemes = ({ subscriptions }: WebhookSubscriptionsState) =>
    subscriptions.get(subscriptionId)?.signatureSchemes ?? []
  const target = webhookSubscriptions.of(tenant)
  const done = await executeWithSecret({ store, vault }, target, { secretId, schemes, decide }, context)

  const own = done.state.subscriptions.get(subscriptionId)
  if (own === undefined) throw problem('internal-error')
  for (const ended of own.endedSecrets) await destroyStored(vault, ended)
  const made = keyedRotationOf(command, own)?.secretId ?? secretId
  // A late repeat does not return a secret that no longer signs.
  const isLive = liveSecrets(own, clock()).some((secret) => secret.secretId === made)
  return { done, own, secret: isLive ? await secretMember(vault, own, made) : undefined }
}
