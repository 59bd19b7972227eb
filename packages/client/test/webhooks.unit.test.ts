import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { verifyWebhook } from '../client.ts'

const secretOf = () => `whsec_${randomBytes(32).toString('base64')}`
const [secret, other] = [secretOf(), secretOf()]
const body = '{"id":"a","note":"é"}'
const invalid = { name: 'Problem', code: 'webhook-invalid' }

function delivered(signedWith: readonly string[], at = new Date()): Record<string, string> {
  const signature = signedWith.map((one) => new Webhook(one).sign('msg', at, body)).join(' ')
  return {
    'Webhook-Id': 'msg',
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': signature,
  }
}

it('returns the body that a secret has signed, as text and as bytes', async () => {
  const headers = delivered([other, secret])
  for (const raw of [body, Buffer.from(body)])
    for (const given of [headers, new Headers(headers)])
      expect(await verifyWebhook(raw, given, secret)).toEqual({ id: 'a', note: 'é' })
  expect(await verifyWebhook(body, delivered([other]), [secret, other])).toEqual({ id: 'a', note: 'é' })
})

it('returns the body that the key pair of the subscription has signed', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  const headers = delivered([other])
  const content = Buffer.from(`msg.${headers['webhook-timestamp']}.${body}`)
  headers['webhook-signature'] += ` v1a,${sign(null, content, privateKey).toString('base64')}`
  const key = `whpk_${Buffer.from(x, 'base64url').toString('base64')}`
  expect(await verifyWebhook(body, headers, key)).toEqual({ id: 'a', note: 'é' })
  await expect(verifyWebhook(`${body} `, headers, key)).rejects.toMatchObject(invalid)
})

it('refuses everything else', async () => {
  const now = Date.now()
  const genuine = delivered([secret])
  const { 'webhook-signature': _, ...unsigned } = genuine
  for (const [raw, headers] of [
    [`${body} `, genuine],
    [body, delivered([other])],
    [body, { ...genuine, 'Webhook-Id': 'other' }],
    [body, { ...genuine, 'webhook-timestamp': '1e9' }],
    [body, { ...genuine, 'webhook-signature': 'v1,%%% v1, v2,AA' }],
    [body, { ...genuine, 'webhook-signature': genuine['webhook-signature']?.replace('v1,', 'v1a,') }],
    [body, unsigned],
    [body, {}],
    [body, delivered([secret], new Date(now - 301_000))],
    [body, delivered([secret], new Date(now + 310_000))],
  ] as const)
    await expect(verifyWebhook(raw, headers, secret)).rejects.toMatchObject(invalid)
  await expect(verifyWebhook(body, genuine, [])).rejects.toMatchObject(invalid)
})

it.each(['', 'whsec_', 'whsec_%', 'plain', 'whsec_QUJD'])('does not work with the secret "%s"', async (given) => {
  await expect(verifyWebhook(body, delivered([secret]), given)).rejects.toThrow(TypeError)
})
