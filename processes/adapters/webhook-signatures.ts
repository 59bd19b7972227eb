import { createPrivateKey, sign, type KeyObject } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import type { Vault } from '../../platform/vault/vault.ts'
import {
  liveSecrets,
  type WebhookSecret,
  type WebhookSubscription,
} from '../../streams/webhook-subscriptions/aggregate.ts'

interface SignedContent {
  /** The id of the delivery. */
  readonly id: string
  readonly sentAt: Date
  readonly body: string
}

/**
 * The value of `webhook-signature`: for each secret that is valid at `sentAt`, newest first, one signature of each
 * scheme.
 */
type SignWebhook = (content: SignedContent) => string

/** Signatures of Standard Webhooks 1.0.0 over `id.timestamp.body`: `v1` HMAC-SHA-256, `v1a` Ed25519. */
export interface WebhookSignatures {
  /**
   * Reads the secrets with which the subscription signs from `now` on.
   * @throws MissingKeyError if the vault lacks one: to the receiver, another secret would look like a forgery
   */
  signerOf(subscription: Pick<WebhookSubscription, 'secrets' | 'signatureSchemes'>, now: Date): Promise<SignWebhook>
}

interface Signing {
  readonly secret: WebhookSecret
  sign(content: SignedContent): readonly string[]
}

export function createWebhookSignatures(vault: Pick<Vault, 'storedSecret'>): WebhookSignatures {
  // Keyed by the copy of the vault: each key is parsed once, and is freed when the vault frees it.
  const privateKeys = new WeakMap<Uint8Array, KeyObject>()

  return {
    async signerOf({ secrets, signatureSchemes }, now) {
      const live = liveSecrets({ secrets }, now)
      const signing = await Promise.all(live.map((secret) => signingOf(secret, signatureSchemes)))
      return (content) => {
        const valid = new Set(liveSecrets({ secrets }, content.sentAt))
        return signing
          .filter(({ secret }) => valid.has(secret))
          .flatMap((one) => one.sign(content))
          .join(' ')
      }
    },
  }

  async function signingOf(secret: WebhookSecret, schemes: WebhookSubscription['signatureSchemes']): Promise<Signing> {
    const hmac = schemes.includes('v1')
      ? new Webhook(await vault.storedSecret('webhook', secret.secretId), { format: 'raw' })
      : undefined
    const key = schemes.includes('v1a') && secret.publicKey !== null ? await privateKeyOf(secret.secretId) : undefined
    return {
      secret,
      sign: ({ id, sentAt, body }) => [
        ...(hmac === undefined ? [] : [hmac.sign(id, sentAt, body)]),
        ...(key === undefined ? [] : [signEd25519({ id, sentAt, body }, key)]),
      ],
    }
  }

  async function privateKeyOf(secretId: string): Promise<KeyObject> {
    const stored = await vault.storedSecret('webhook-signing', secretId)
    const cached = privateKeys.get(stored)
    if (cached !== undefined) return cached
    const key = createPrivateKey({ key: Buffer.from(stored), type: 'pkcs8', format: 'der' })
    privateKeys.set(stored, key)
    return key
  }
}

/** `v1a,` and the base64 of the Ed25519 signature of `id.timestamp.body`. */
export function signEd25519({ id, sentAt, body }: SignedContent, key: KeyObject): string {
  const content = Buffer.from(`${id}.${Math.floor(sentAt.getTime() / 1000)}.${body}`)
  return `v1a,${sign(null, content, key).toString('base64')}`
}
