import { isIPv6 } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Configuration } from '../configuration/configuration.ts'
import { problem } from './problems.ts'
import type { Caller } from './access.ts'
import { createFailureDelays, type FailureDelays } from './failure-delays.ts'
import { createTokenBuckets, type BucketLevel, type BucketPolicy, type TokenBuckets } from './token-bucket.ts'

declare module 'fastify' {
  interface FastifyInstance {
    rateLimits: RateLimits
  }
  interface FastifyContextConfig {
    /** The route has its own limit in addition to those of its caller. */
    rateLimit?: 'creates'
  }
}

type LimitSettings =
  | 'rateLimits'
  | 'rateLimitClientPerMinute'
  | 'rateLimitClientBurst'
  | 'rateLimitOrganisationPerMinute'
  | 'rateLimitCreatesPerMinute'
  | 'rateLimitTokensPerMinute'
  | 'rateLimitTokenFailuresPerMinute'

export interface RateLimitOptions {
  readonly configuration: Pick<Configuration, 'profile' | 'serviceClientId' | LimitSettings>
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number
}

/**
 * Rate limits of callers, counted in the memory of this instance. Production enforces them; development only reports
 * them. The platform's own client has no limit: tenants have already caused its calls.
 */
export interface RateLimits {
  /**
   * Counts a request of an authorised caller. Throws `quota-exceeded`. In both cases the headers contain the remaining
   * quota.
   */
  admit(request: FastifyRequest, reply: LimitedReply, caller: Caller): void
  /**
   * Records wrong credentials of a token request, or a wrong administrator secret. Throws `quota-exceeded` while the
   * address must wait. Correct credentials always pass: a whole clinic or a proxy may share one address.
   */
  credentialsRefused(request: FastifyRequest): void
  /** Throws `quota-exceeded` while the address must wait. For credentials that are known to be wrong. */
  requireNoDelay(request: FastifyRequest): void
  /** Counts a token for an authenticated client. So nobody else can use up its quota. */
  admitToken(reply: LimitedReply, clientId: string): void
}

type LimitedReply = Pick<FastifyReply, 'header'>

interface Limit extends BucketPolicy {
  readonly name: string
  readonly buckets: TokenBuckets
}

export function createRateLimits({ configuration, now = () => performance.now() }: RateLimitOptions): RateLimits {
  const isEnforced = configuration.profile === 'production'
  const limits = {
    client: limitOf('client', configuration.rateLimitClientPerMinute, configuration.rateLimitClientBurst),
    organisation: limitOf('organisation', configuration.rateLimitOrganisationPerMinute),
    creates: limitOf('creates', configuration.rateLimitCreatesPerMinute),
    tokens: limitOf('tokens', configuration.rateLimitTokensPerMinute),
  }
  const isOff = configuration.rateLimits === 'off'
  const failures: FailureDelays = createFailureDelays(isOff ? 0 : configuration.rateLimitTokenFailuresPerMinute, now)

  return {
    admit({ routeOptions }, reply, caller) {
      if (caller.clientId === 'anonymous' || isOurs(caller.clientId)) return
      const orgId = caller.orgId ?? caller.actor?.orgId ?? null
      count(reply, [
        [limits.client, caller.clientId],
        ...(orgId === null ? [] : [[limits.organisation, orgId.toLowerCase()] as const]),
        ...(routeOptions.config.rateLimit === 'creates' ? [[limits.creates, caller.clientId] as const] : []),
      ])
    },
    credentialsRefused(request) {
      requireNoDelay(request)
      failures.note(networkOf(request.ip))
    },
    requireNoDelay,
    admitToken(reply, clientId) {
      if (!isOurs(clientId)) count(reply, [[limits.tokens, clientId]])
    },
  }

  function requireNoDelay({ ip }: FastifyRequest): void {
    const waitMs = failures.waitMs(networkOf(ip))
    if (isEnforced && waitMs > 0) throw exceeded(waitMs)
  }

  function isOurs(clientId: string): boolean {
    return clientId.toLowerCase() === configuration.serviceClientId?.toLowerCase()
  }

  /** A request that one bucket refuses takes nothing from the others. */
  function count(reply: LimitedReply, asked: readonly (readonly [Limit | undefined, string])[]): void {
    const known = asked.flatMap(([limit, key]) =>
      limit === undefined ? [] : [{ limit, key, level: limit.buckets.levelOf(key) }],
    )
    if (known.length === 0) return
    const waitMs = Math.max(...known.map(({ level }) => level.nextInMs))
    const isRefused = isEnforced && waitMs > 0
    const left = isRefused ? known : known.map(({ limit, key }) => ({ limit, level: limit.buckets.take(key) }))
    reply.header('ratelimit-policy', left.map(({ limit }) => policyField(limit)).join(', '))
    reply.header('ratelimit', left.map(({ limit, level }) => levelField(limit, level)).join(', '))
    if (isRefused) throw exceeded(waitMs)
  }

  function limitOf(name: string, perMinute: number, burst: number = perMinute): Limit | undefined {
    if (configuration.rateLimits === 'off' || perMinute === 0 || burst === 0) return undefined
    const policy = { perMinute, burst }
    return { name, ...policy, buckets: createTokenBuckets(policy, now) }
  }
}

function exceeded(waitMs: number) {
  return problem('quota-exceeded', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
}

/**
 * `q` requests may arrive at once, and as many again within `w` seconds. The bucket holds `q` and fills in `w` seconds.
 */
function policyField({ name, perMinute, burst }: Limit): string {
  return `"${name}";q=${burst};w=${Math.ceil((burst * 60) / perMinute)}`
}

function levelField({ name }: Limit, { remaining, fullInMs }: BucketLevel): string {
  return `"${name}";r=${remaining};t=${Math.ceil(fullInMs / 1000)}`
}

/** The owner of one IPv6 address has all 2^64 addresses of its network. */
export function networkOf(ip: string): string {
  if (!isIPv6(ip)) return ip
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(ip)?.[1]
  if (mapped !== undefined) return mapped
  const [head = '', tail] = ip.split('::')
  const groups = head.split(':')
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(':').length
  const whole = [...groups, ...Array.from({ length: missing }, () => '0'), ...(tail ?? '').split(':')]
  return whole
    .slice(0, 4)
    .map((group) => Number.parseInt(group || '0', 16).toString(16))
    .join(':')
}
