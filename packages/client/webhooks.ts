import { Problem } from './problem.ts'
import type { WebhookHeaders } from './shapes.ts'

/** Difference between the clocks of sender and receiver, in seconds. */
const tolerance = 300

/**
 * The parsed body of a delivery that the platform signed within the last five minutes (Standard Webhooks 1.0.0).
 *
 * @param rawBody the body as it came
 * @param secret the secret of the subscription (`whsec_…`) or its public key (`whpk_…`), or several of them
 * @throws Problem `webhook-invalid`
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array<ArrayBuffer>,
  headers: WebhookHeaders,
  secret: string | readonly string[],
): Promise<unknown> {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) => valueOf(headers, name))
  if (id === undefined || timestamp === undefined || signatures === undefined) throw invalid('A header is missing.')
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(Date.now() / 1_000 - Number(timestamp)) > tolerance)
    throw invalid('The time is more than five minutes away.')
  const content = await new Blob([`${id}.${timestamp}.`, rawBody]).arrayBuffer()
  for (const text of [secret].flat()) {
    const { scheme, algorithm, key } = await keyOf(text)
    for (const one of signatures.split(' ', 20)) {
      const signature = one.startsWith(`${scheme},`) ? bytesIn(one.slice(scheme.length + 1)) : undefined
      if (signature !== undefined && (await crypto.subtle.verify(algorithm, key, signature, content)))
        return JSON.parse(await new Blob([rawBody]).text())
    }
  }
  throw invalid('No signature verifies.')
}

async function keyOf(text: string) {
  const [scheme, prefix, algorithm] = text.startsWith('whpk_')
    ? (['v1a', 'whpk_', { name: 'Ed25519' }] as const)
    : (['v1', 'whsec_', { name: 'HMAC', hash: 'SHA-256' }] as const)
  const bytes = text.startsWith(prefix) ? bytesIn(text.slice(prefix.length)) : undefined
  if (bytes === undefined || bytes.length < 24) throw new TypeError('the secret is no whsec_ and no whpk_ with base64')
  return { scheme, algorithm, key: await crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']) }
}

function bytesIn(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}

function valueOf(headers: WebhookHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(`webhook-${name}`) ?? undefined
  const [, value] = Object.entries(headers).find(([given]) => given.toLowerCase() === `webhook-${name}`) ?? []
  return value === undefined ? undefined : String(value)
}

function invalid(detail: string): Problem {
  return new Problem('webhook-invalid', 400, detail)
}
