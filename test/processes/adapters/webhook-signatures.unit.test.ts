import { createPrivateKey, createPublicKey, randomBytes, verify } from 'node:crypto'
import { Webhook, WebhookVerificationError } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { newSigningSecret, signingKeyOf } from '../../../platform/vault/signing-keys.ts'
import { createWebhookSignatures, signEd25519 } from '../../../processes/adapters/webhook-signatures.ts'
import { MissingKeyError } from '../../../platform/kit/key-vault.ts'
import type { WebhookSecret, WebhookSubscription } from '../../../streams/webhook-subscriptions/aggregate.ts'

type Signing = Pick<WebhookSubscription, 'secrets' | 'signatureSchemes'>

const body = '{"id":"a","status":"completed","note":"Grüße"}'
const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'

/** A vault with the secrets of the tests. */
const stored = new Map<string, Uint8Array>()
const signatures = createWebhookSignatures({
  storedSecret: async (kind, secretId) => {
    const secret = stored.get(`${kind}/${secretId}`)
    if (secret === undefined) throw new MissingKeyError(kind, secretId)
    return secret
  },
})

async function secretOf(secretId: string, validUntil: string | null = null): Promise<WebhookSecret> {
  stored.set(`webhook/${secretId}`, new Uint8Array(randomBytes(24)))
  const pair = newSigningSecret()
  stored.set(`webhook-signing/${secretId}`, pair)
  const { kid, publicJwk } = await signingKeyOf(pair)
  return { secretId, publicKey: { kid, x: publicJwk.x ?? '' }, validUntil }
}

async function headersOf(subscription: Signing, sentAt: Date, fetchedAt = sentAt) {
  const sign = await signatures.signerOf(subscription, fetchedAt)
  const timestamp = String(Math.floor(sentAt.getTime() / 1000))
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': sign({ id, sentAt, body }) }
}

/** Verifies as a receiver does, with the official library and the secret that it received once. */
function accepts(secretId: string, headers: Record<string, string>, received = body): boolean {
  const text = `whsec_${Buffer.from(stored.get(`webhook/${secretId}`) ?? []).toString('base64')}`
  try {
    new Webhook(text).verify(received, headers)
    return true
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false
    throw error
  }
}

/** Verifies as a receiver does, with the key set: any `v1a` signature of the header by this key. */
function acceptsByKey(
  { publicKey }: WebhookSecret,
  headers: Awaited<ReturnType<typeof headersOf>>,
  received = body,
): boolean {
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey?.x ?? '' }, format: 'jwk' })
  const content = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${received}`)
  const given = headers['webhook-signature'].split(' ').filter((one) => one.startsWith('v1a,'))
  return given.some((one) => verify(null, content, key, Buffer.from(one.slice('v1a,'.length), 'base64')))
}

const versionsOf = (headers: Awaited<ReturnType<typeof headersOf>>) =>
  headers['webhook-signature'].split(' ').map((one) => one.split(',')[0])

describe('the signatures of a webhook', () => {
  it('equal the examples of the specification and of another implementation', async () => {
    const message = { id, sentAt: new Date(1_614_265_330_000), body: '{"test": 2432232314}' }
    stored.set('webhook/example', new Uint8Array(Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')))
    const sign = await signatures.signerOf(
      { secrets: [{ secretId: 'example', publicKey: null, validUntil: null }], signatureSchemes: ['v1', 'v1a'] },
      message.sentAt,
    )
    expect(sign(message)).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')

    // RFC 8032, 7.1, test 1.
    const der = Buffer.from(
      '302e020100300506032b6570042204209d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
      'hex',
    )
    const key = createPrivateKey({ key: der, type: 'pkcs8', format: 'der' })
    expect(signEd25519(message, key)).toBe(
      'v1a,fldxM4gAKugP6nnt1hdz3sgGfZ6d99nzrMFnZOELIxbzEHoVmAb2ADpkJK7zgPePmPsle0zV9jSeGlHFG2NVAw==',
    )
  })

  it('are one of each scheme, which the official verifier and the key set both accept', async () => {
    const secret = await secretOf('both')
    const headers = await headersOf({ secrets: [secret], signatureSchemes: ['v1', 'v1a'] }, new Date())
    expect(versionsOf(headers)).toEqual(['v1', 'v1a'])
    expect([accepts('both', headers), acceptsByKey(secret, headers)]).toEqual([true, true])
    expect([accepts('both', headers, `${body} `), acceptsByKey(secret, headers, `${body} `)]).toEqual([false, false])
    const later = { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) + 1) }
    expect([accepts('both', later), acceptsByKey(secret, later)]).toEqual([false, false])
  })

  it.each([['v1'], ['v1a']] as const)('have only the scheme %s if the subscription has only that', async (scheme) => {
    const secret = await secretOf('one-scheme')
    expect(versionsOf(await headersOf({ secrets: [secret], signatureSchemes: [scheme] }, new Date()))).toEqual([scheme])
  })

  it('are made with the current secret and with those before it until they end', async () => {
    const sentAt = new Date()
    const ended = (ms: number) => new Date(sentAt.getTime() + ms).toISOString()
    const [current, previous, oldest] = await Promise.all([
      secretOf('current'),
      secretOf('previous', ended(1)),
      secretOf('oldest', ended(0)),
    ])
    const subscription: Signing = { secrets: [current, previous, oldest], signatureSchemes: ['v1', 'v1a'] }

    // The oldest secret was still valid at the fetch. The time of sending decides.
    const headers = await headersOf(subscription, sentAt, new Date(sentAt.getTime() - 5_000))
    expect(versionsOf(headers)).toEqual(['v1', 'v1a', 'v1', 'v1a'])
    expect(['current', 'previous', 'oldest'].map((secretId) => accepts(secretId, headers))).toEqual([true, true, false])
    expect([current, previous, oldest].map((secret) => acceptsByKey(secret, headers))).toEqual([true, true, false])
  })

  it('are none once the vault has removed a key that has signed before', async () => {
    const subscription: Signing = { secrets: [await secretOf('destroyed')], signatureSchemes: ['v1a'] }
    expect(versionsOf(await headersOf(subscription, new Date()))).toEqual(['v1a'])
    stored.delete('webhook-signing/destroyed')
    await expect(headersOf(subscription, new Date())).rejects.toThrow(MissingKeyError)
  })

  it('are none if the vault has lost a secret, not those of another secret', async () => {
    const secret = await secretOf('lost')
    stored.delete('webhook/lost')
    await expect(headersOf({ secrets: [secret], signatureSchemes: ['v1'] }, new Date())).rejects.toThrow(
      MissingKeyError,
    )
    expect(stored.has('webhook/lost')).toBe(false)
  })
})
