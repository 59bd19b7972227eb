import { problem } from '../../platform/http/problems.ts'
import { signingKeyOf } from '../../platform/vault/signing-keys.ts'
import type { Vault } from '../../platform/vault/vault.ts'
import type { CommandContext } from '../../platform/kit/tenants.ts'
import type {
  PublicKey,
  SignatureScheme,
  WebhookSubscriptionEvent,
} from '../../streams/webhook-subscriptions/events.ts'
import type {
  WebhookSecret,
  WebhookSubscription,
  WebhookSubscriptionsState,
} from '../../streams/webhook-subscriptions/aggregate.ts'
import { isRefusal } from '../../engine/commands/decision.ts'
import type { AnsweredDecision } from '../../engine/commands/refusals.ts'
import type { CommandDependencies } from '../../engine/commands/dependencies.ts'
import { execute, type Executed } from '../../engine/commands/execute.ts'
import type { Target } from '../../engine/store/events.ts'

export interface NewSecret {
  readonly secretId: string
  /** The schemes of the subscription. */
  readonly schemes: (state: WebhookSubscriptionsState) => readonly SignatureScheme[]
  /** The decision whose event names the secret. The public key is null while the decision is only tried. */
  readonly decide: (
    publicKey: PublicKey | null,
  ) => (state: WebhookSubscriptionsState) => AnsweredDecision<WebhookSubscriptionEvent>
}

/**
 * Creates a secret in the vault, then appends the event that names it. A repeat, a duplicate or a refusal creates no
 * secret. After a failed append the secret stays in the vault, but signs nothing.
 *
 * @throws Problem the decision's refusal
 */
export async function executeWithSecret(
  { store, vault }: Pick<CommandDependencies, 'store' | 'vault'>,
  target: Target<WebhookSubscriptionsState, WebhookSubscriptionEvent>,
  { secretId, schemes, decide }: NewSecret,
  context: CommandContext,
): Promise<Executed<WebhookSubscriptionsState, WebhookSubscriptionEvent>> {
  const { state, revision, position } = await store.load(target)
  const tried = decide(null)(state)
  if (isRefusal(tried)) throw problem(tried.refused, tried.details)
  if (tried.length === 0) return { state, revision, events: [], position: undefined, reached: position }
  const publicKey = await makeSecret(vault, secretId, schemes(state))
  return execute(store, target, decide(publicKey), context)
}

async function makeSecret(
  vault: Vault,
  secretId: string,
  schemes: readonly SignatureScheme[],
): Promise<PublicKey | null> {
  if (schemes.includes('v1')) await vault.secret('webhook', secretId)
  if (!schemes.includes('v1a')) return null
  const { kid, publicJwk } = await signingKeyOf(await vault.secret('webhook-signing', secretId))
  if (publicJwk.x === undefined) throw new Error('a key of the vault has no public half')
  return { kid, x: publicJwk.x }
}

/** Destroys a secret and its key pair for ever. */
export async function destroyStored(
  vault: Pick<Vault, 'destroySecret'>,
  { secretId, publicKey }: Pick<WebhookSecret, 'secretId' | 'publicKey'>,
): Promise<void> {
  await vault.destroySecret('webhook', secretId)
  if (publicKey !== null) await vault.destroySecret('webhook-signing', secretId)
}

/** The member `secret` of an answer, `whsec_…`. Undefined if the scheme of the subscription has no secret. */
export async function secretMember(
  vault: Vault,
  subscription: WebhookSubscription,
  secretId: string,
): Promise<string | undefined> {
  if (!subscription.signatureSchemes.includes('v1')) return undefined
  return `whsec_${Buffer.from(await vault.storedSecret('webhook', secretId)).toString('base64')}`
}
