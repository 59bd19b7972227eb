import type { KeyObject } from 'node:crypto'
import type { JWTPayload } from 'jose'
import { LRUCache } from 'lru-cache'
import { atMost } from '../kit/at-most.ts'
import { signActorContext } from './signed-actor-context.ts'

export interface ContextTokensOptions {
  readonly keys: {
    signingKey(purpose: 'actor-context'): Promise<{ readonly kid: string; readonly privateKey: KeyObject }>
  }
  readonly ttlSeconds: number
  readonly now: () => Date
}

export interface ContextToken {
  readonly token: string
  readonly issuedAt: Date
  readonly expiresAt: Date
}

export interface ContextTokens {
  /** A token with exactly these claims and the present key. At least half of its life is left. */
  tokenOf(claims: JWTPayload): Promise<ContextToken>
}

const mostTokens = 10_000

/** Signs actor contexts. Equal claims get the same token again, because a signature costs more than the rest of an answer. */
export function createContextTokens({ keys, ttlSeconds, now }: ContextTokensOptions): ContextTokens {
  const reuseMs = ttlSeconds * 500
  // Tokens contain names. The memory of this process forgets them after their time, also if nobody asks again.
  const signed = new LRUCache<string, Promise<ContextToken>>({
    ...atMost(mostTokens),
    ttl: reuseMs,
    ttlAutopurge: true,
  })

  async function sign(claims: JWTPayload, key: { readonly kid: string; readonly privateKey: KeyObject }) {
    // Tokens contain whole seconds.
    const issuedAt = new Date(Math.floor(now().getTime() / 1000) * 1000)
    const expiresAt = new Date(issuedAt.getTime() + ttlSeconds * 1000)
    return { issuedAt, expiresAt, token: await signActorContext(claims, key, { issuedAt, expiresAt }) }
  }

  return {
    async tokenOf(claims) {
      const key = await keys.signingKey('actor-context')
      const name = `${key.kid}${JSON.stringify(claims)}`
      const kept = signed.get(name)
      if (kept !== undefined) {
        const known = await kept
        const ageMs = now().getTime() - known.issuedAt.getTime()
        if (ageMs >= 0 && ageMs < reuseMs) return known
      }
      const signing = sign(claims, key)
      signed.set(name, signing)
      signing.catch(() => signed.delete(name))
      return signing
    },
  }
}
