import type { Egress } from '../../platform/outbound/egress.ts'
import type { Configuration } from '../../platform/configuration/configuration.ts'
import { memberOf } from './outside-answers.ts'

/** A platform token for calls between services (specification 5.7). It is kept until 30 s before it expires. */
export interface PlatformToken {
  get(): Promise<string>
  /** Drops a token that a service did not accept. */
  drop(): void
}

const renewEarlyMs = 30_000

/** Rejects if the token endpoint is unreachable or refuses. The message contains no secret. */
export function createPlatformToken(
  egress: Egress,
  configuration: Pick<Configuration, 'authBaseUrl' | 'serviceClientId' | 'serviceClientSecret'>,
  now: () => Date,
): PlatformToken {
  let held: { readonly token: string; readonly until: number } | null = null
  let asking: Promise<string> | null = null

  /** Several calls may share it, so it has its own time limit. */
  async function ask(): Promise<string> {
    const { serviceClientId = '', serviceClientSecret = '' } = configuration
    const response = await egress.request(`${configuration.authBaseUrl}/v1/auth/oauth/token`, {
      purpose: 'service',
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: serviceClientId,
        client_secret: serviceClientSecret,
      }).toString(),
      timeoutMs: 10_000,
      maxBytes: 64 * 1024,
    })
    if (response.status !== 200) {
      await response.discard()
      throw new Error(`the token endpoint answered ${response.status}`)
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
