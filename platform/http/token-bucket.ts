import { LRUCache } from 'lru-cache'
import { atMost } from '../kit/at-most.ts'

/** Fill rate and capacity of one bucket. */
export interface BucketPolicy {
  readonly perMinute: number
  /** Requests that may arrive at once. */
  readonly burst: number
}

/** Current state of one key's bucket. */
export interface BucketLevel {
  /** Whole requests that are allowed now. */
  readonly remaining: number
  /** Milliseconds until the next request is allowed; 0 if it is allowed now. */
  readonly nextInMs: number
  /** Milliseconds until the bucket is full again. */
  readonly fullInMs: number
}

/** The buckets of one policy, one per key. A key that was not used for long has a full bucket. */
export interface TokenBuckets {
  levelOf(key: string): BucketLevel
  /** Takes one request from the key's bucket, if it has one. */
  take(key: string): BucketLevel
}

interface Bucket {
  tokens: number
  atMs: number
}

/** Most remembered keys. Callers need credentials or an address, so more keys do not matter. */
const mostKeys = 20_000
/** Sums of fractions may be slightly below the exact whole number. */
const roundingError = 1e-6

/** `now` is a monotonic clock in milliseconds. */
export function createTokenBuckets({ perMinute, burst }: BucketPolicy, now: () => number): TokenBuckets {
  const buckets = new LRUCache<string, Bucket>(atMost(mostKeys))
  const perMs = perMinute / 60_000

  function filled(key: string): Bucket {
    const atMs = now()
    const known = buckets.get(key)
    const bucket = known ?? { tokens: burst, atMs }
    bucket.tokens = Math.min(burst, bucket.tokens + (atMs - bucket.atMs) * perMs)
    bucket.atMs = atMs
    if (known === undefined) buckets.set(key, bucket)
    return bucket
  }

  function level({ tokens }: Bucket): BucketLevel {
    const remaining = Math.floor(tokens + roundingError)
    return {
      remaining,
      nextInMs: remaining > 0 ? 0 : Math.ceil((1 - roundingError - tokens) / perMs),
      fullInMs: Math.max(0, Math.ceil((burst - roundingError - tokens) / perMs)),
    }
  }

  return {
    levelOf: (key) => level(filled(key)),
    take(key) {
      const bucket = filled(key)
      if (level(bucket).remaining > 0) bucket.tokens = Math.max(0, bucket.tokens - 1)
      return level(bucket)
    },
  }
}
