import { abortable, exchange, repeated, type Tokens } from './sending.ts'
import type { ClientOptions } from './shapes.ts'

interface Held {
  readonly value: string
  readonly freshUntil: number
  readonly validUntil: number
}

/** Pause after a failed renewal of a token that is still valid. */
const renewalPauseMs = 30_000

export function createTokens({ baseUrl, clientId, clientSecret, token }: ClientOptions, retries: number): Tokens {
  if (clientSecret !== undefined && ('document' in globalThis || 'importScripts' in globalThis))
    throw new TypeError('a secret does not belong in a browser: give a token of your server')
  if (typeof token === 'string') return { get: async () => token, renew: () => false }
  const issue =
    token === undefined
      ? withSecret()
      : async () => ({ value: await token(), freshUntil: Infinity, validUntil: Infinity })
  let held: Held | undefined
  let issuing: Promise<string> | undefined

  async function issued(): Promise<string> {
    try {
      held = await issue()
    } catch (error) {
      if (held === undefined || Date.now() >= held.validUntil) throw error
      held = { ...held, freshUntil: Date.now() + renewalPauseMs }
    }
    return held.value
  }

  return {
    async get(signal) {
      if (held !== undefined && Date.now() < held.freshUntil) return held.value
      issuing ??= issued().finally(() => (issuing = undefined))
      return abortable(issuing, signal)
    },
    renew(refused) {
      if (held?.value === refused) held = undefined
      return true
    },
  }

  function withSecret() {
    if (clientId === undefined || clientSecret === undefined)
      throw new TypeError('createClient needs clientId and clientSecret, or token')
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
    return async (): Promise<Held> => {
      const asked = Date.now()
      const { data } = await repeated({ retries }, () =>
        exchange(`${baseUrl}/v1/auth/oauth/token`, { method: 'POST', body: new URLSearchParams(form) }),
      )
      const { access_token: value, expires_in: seconds } = data as { access_token: string; expires_in: number }
      // Half of the lifetime is left for requests that wait, and for a time without the token endpoint.
      return { value, freshUntil: asked + seconds * 500, validUntil: asked + seconds * 1_000 }
    }
  }
}
