import { v7 } from 'uuid'
import { executeRotation, usualGraceSeconds } from '../../commands/webhooks/execute-rotation.ts'
import { toWebhookSubscriptionRecord } from '../../contracts/webhooks/subscription.ts'
import { viewOf } from '../../commands/webhooks/views.ts'
import { answeringRefusals } from '../../engine/commands/refusals.ts'
import type { EventStore } from '../../engine/store/event-store.ts'
import { Problem } from '../../platform/http/problems.ts'
import { tenantOfFact } from '../../platform/kit/tenants.ts'
import type { Vault } from '../../platform/vault/vault.ts'

export interface WebhookRotation {
  readonly orgId: string
  /** Id of the subscription. */
  readonly endpoint: string
  /** Undefined: as the route takes it without the member. */
  readonly graceSeconds: number | undefined
}

export interface RotatedWebhook {
  readonly purpose: 'webhook'
  readonly endpoint: string
  /** `whsec_…`. Null if the scheme of the subscription has none. */
  readonly secret: string | null
  /** `whpk_…`. Null likewise. */
  readonly public_key: string | null
  /** The key before signs beside the new one until then. */
  readonly previous_valid_until: string
}

const answering = answeringRefusals({})

/**
 * Gives a webhook another secret and another key pair, like its route.
 * @throws Error for an unknown endpoint, or if too many earlier secrets still sign
 */
export async function rotateWebhook(
  servers: { readonly store: EventStore; readonly vault: Vault },
  { orgId, endpoint, graceSeconds = usualGraceSeconds }: WebhookRotation,
  now: () => Date,
): Promise<RotatedWebhook> {
  const [tenant, at] = [tenantOfFact(orgId), now()]
  const command = { tenant, subscriptionId: endpoint, secretId: v7(), graceSeconds, request: null, now: at, answering }
  const context = { commandId: v7(), correlationId: v7(), orgId: tenant, process: 'keys' }
  try {
    const { own, secret } = await executeRotation({ ...servers, now }, command, context)
    const { public_key: publicKey } = toWebhookSubscriptionRecord(viewOf(own))
    return {
      purpose: 'webhook',
      endpoint,
      secret: secret ?? null,
      public_key: publicKey,
      previous_valid_until: new Date(at.getTime() + graceSeconds * 1000).toISOString(),
    }
  } catch (error) {
    const code = error instanceof Problem ? error.code : undefined
    if (code === 'not-found') throw new Error(`organisation ${orgId} has no webhook ${endpoint}`, { cause: error })
    if (code === 'too-many-secrets')
      throw new Error(
        `four earlier secrets of webhook ${endpoint} still sign: repeat this when one has ended, or with --grace-seconds 0`,
        { cause: error },
      )
    throw error
  }
}
