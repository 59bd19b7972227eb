import type { Egress } from '../../platform/outbound/egress.ts'
import type { EgressPurpose } from '../../platform/outbound/exempt-addresses.ts'
import { memberOf } from '../../platform/outbound/outside-answers.ts'

/** An access token of a client, by client credentials (RFC 6749, 4.4). Kept until half a minute before it expires. */
export interface ClientToken {
  get(): Promise<string>
  /** Drops a token that was not accepted. */
  drop(): void
}

export interface TokenRequest {
  readonly endpoint: string
  readonly purpose: EgressPurpose
  readonly clientId: string
  readonly clientSecret: string
}

/** The token endpoint answered, but not with a token. */
export class TokenRefusedError extends Error {
  override readonly name = 'TokenRefusedError'
  readonly isSafeToLog = true
  readonly status: number

  constructor(status: number) {
    super(`the token endpoint answered ${status}`)
    this.status = status
  }
}

const renewEarlyMs = 30_000

/** `get` rejects when the token endpoint cannot be reached or refuses. The message contains no secret. */
export function createClientToken(egress: Egress, request: TokenRequest, now: () => Date): ClientToken {
  let held: { readonly token: string; readonly until: number } | null = null
  let asking: Promise<string> | null = null

  /** Shared by all who wait for it, so it has a time limit of its own. */
  async function ask(): Promise<string> {
    const response = await egress.request(request.endpoint, {
      purpose: request.purpose,
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: request.clientId,
        client_secret: request.clientSecret,
      }).toString(),
      timeoutMs: 10_000,
      maxBytes: 64 * 1024,
    })
    if (response.status !== 200) {
      await response.discard()
      throw new TokenRefusedError(response.status)
    }
    const answer = await response.json()
    const token = memberOf(answer, 'access_token')
    const seconds = memberOf(answer, 'expires_in')
    if (typeof token !== 'string' || typeof seconds !== 'number')
      throw new Error('the token endpoint answered no token')
    held = { token, until: now().getTime() + seconds * 1000 - renewEarlyMs }
    return token
  }

  return {
    async get() {
      if (held !== null && held.until > now().getTime()) return held.token
      asking ??= ask().finally(() => {
        asking = null
      })
      return asking
    },
    drop: () => {
      held = null
    },
  }
}
