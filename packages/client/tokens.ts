import { abortable, exchange, type Tokens } from './sending.ts'
import type { ClientOptions } from './shapes.ts'

interface Issued {
  readonly access_token: unknown
  readonly expires_in: number
}

/** Pause after a failed renewal of a token that is still valid. */
const renewalPauseMs = 30_000

export function createTokens(options: ClientOptions): Tokens {
  const { baseUrl, clientId = '', clientSecret = '', token } = options
  if (clientSecret !== '' && ('document' in globalThis || 'importScripts' in globalThis))
    throw new TypeError('a secret does not belong in a browser: give a token of your server')
  if (token === undefined && (clientId === '' || clientSecret === ''))
    throw new TypeError('createClient needs clientId and clientSecret, or token')
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  let held: { readonly value: string; readonly freshUntil: number; readonly validUntil: number } | undefined
  let issuing: Promise<string> | undefined

  async function issue(): Promise<Issued> {
    if (token !== undefined)
      return { access_token: typeof token === 'string' ? token : await token(), expires_in: Infinity }
    const init = { method: 'POST', body: new URLSearchParams(form) }
    return (await exchange(`${baseUrl}/v1/auth/oauth/token`, init)).data as Issued
  }

  async function issued(): Promise<string> {
    const asked = Date.now()
    try {
      const { access_token, expires_in: seconds } = await issue()
      // Half of the lifetime is left for requests that wait, and for a time without the token endpoint.
      held = { value: checked(access_token), freshUntil: asked + seconds * 500, validUntil: asked + seconds * 1_000 }
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
      return typeof token !== 'string'
    },
  }
}

/** Names the fault, never the token. */
function checked(token: unknown): string {
  if (typeof token === 'string' && /^[!-~]+$/.test(token)) return token
  const fault = typeof token === 'string' ? JSON.stringify(/[^!-~]|^$/u.exec(token)?.[0]) : typeof token
  throw new TypeError(`the token must be text of printable characters without spaces, and is or contains ${fault}`)
}
