import { isIPv6 } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Configuration } from '../configuration/configuration.ts'
import { problem } from './problems.ts'
import { consoleClient, type Caller } from './access.ts'
import { createFailureDelays, type FailureDelays } from './failure-delays.ts'
import {
  createTokenBuckets,
  type BucketLevel,
  type BucketPolicy,
  type TokenBucket,
  type TokenBuckets,
} from './token-bucket.ts'

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

interface Limit {
  readonly name: string
  /** Its part of the header `RateLimit-Policy`. */
  readonly policy: string
  readonly buckets: TokenBuckets
}

interface Counted {
  readonly limit: Limit
  readonly bucket: TokenBucket
}

function countedBy(limit: Limit | undefined, key: string): Counted | undefined {
  return limit === undefined ? undefined : { limit, bucket: limit.buckets.of(key) }
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
      const counted = [
        // Persons at the console share its name.
        countedBy(limits.client, caller.clientId === consoleClient ? (caller.actor?.userId ?? '') : caller.clientId),
        orgId === null ? undefined : countedBy(limits.organisation, orgId.toLowerCase()),
        routeOptions.config.rateLimit === 'creates' ? countedBy(limits.creates, caller.clientId) : undefined,
      ]
      count(
        reply,
        counted.filter((one) => one !== undefined),
      )
    },
    credentialsRefused(request) {
      requireNoDelay(request)
      failures.note(networkOf(request.ip))
    },
    requireNoDelay,
    admitToken(reply, clientId) {
      const counted = isOurs(clientId) ? undefined : countedBy(limits.tokens, clientId)
      if (counted !== undefined) count(reply, [counted])
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
  function count(reply: LimitedReply, counted: readonly Counted[]): void {
    if (counted.length === 0) return
    const waitMs = isEnforced ? Math.max(...counted.map(({ bucket }) => bucket.level().nextInMs)) : 0
    const isRefused = waitMs > 0
    const levels = counted.map(({ limit, bucket }) => levelField(limit, isRefused ? bucket.level() : bucket.take()))
    reply.header('ratelimit-policy', counted.map(({ limit }) => limit.policy).join(', '))
    reply.header('ratelimit', levels.join(', '))
    if (isRefused) throw exceeded(waitMs)
  }

  function limitOf(name: string, perMinute: number, burst: number = perMinute): Limit | undefined {
    if (configuration.rateLimits === 'off' || perMinute === 0 || burst === 0) return undefined
    const policy = { perMinute, burst }
    return { name, policy: policyField(name, policy), buckets: createTokenBuckets(policy, now) }
  }
}

function exceeded(waitMs: number) {
  return problem('quota-exceeded', { retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) })
}

/**
 * `q` requests may arrive at once, and as many again within `w` seconds. The bucket holds `q` and fills in `w` seconds.
 */
function policyField(name: string, { perMinute, burst }: BucketPolicy): string {
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
