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

/** A bucket as it is now. Valid until the caller waits for something. */
export interface TokenBucket {
  level(): BucketLevel
  /** Takes one request, if there is one. */
  take(): BucketLevel
}

/** The buckets of one policy, one per key. A key that was not used for long has a full bucket. */
export interface TokenBuckets {
  of(key: string): TokenBucket
}

/** Most remembered keys. Callers need credentials or an address, so more keys do not matter. */
const mostKeys = 20_000
/** Sums of fractions may be slightly below the exact whole number. */
const roundingError = 1e-6

/** `now` is a monotonic clock in milliseconds. */
export function createTokenBuckets({ perMinute, burst }: BucketPolicy, now: () => number): TokenBuckets {
  const buckets = new LRUCache<string, Bucket>(atMost(mostKeys))
  return {
    of(key) {
      const atMs = now()
      const known = buckets.get(key)
      if (known !== undefined) return known.filledAt(atMs)
      const bucket = new Bucket(perMinute / 60_000, burst, atMs)
      buckets.set(key, bucket)
      return bucket
    },
  }
}

class Bucket implements TokenBucket {
  readonly #perMs: number
  readonly #burst: number
  #tokens: number
  #atMs: number

  constructor(perMs: number, burst: number, atMs: number) {
    this.#perMs = perMs
    this.#burst = burst
    this.#tokens = burst
    this.#atMs = atMs
  }

  filledAt(atMs: number): this {
    this.#tokens = Math.min(this.#burst, this.#tokens + (atMs - this.#atMs) * this.#perMs)
    this.#atMs = atMs
    return this
  }

  level(): BucketLevel {
    const remaining = Math.floor(this.#tokens + roundingError)
    return {
      remaining,
      nextInMs: remaining > 0 ? 0 : Math.ceil((1 - roundingError - this.#tokens) / this.#perMs),
      fullInMs: Math.max(0, Math.ceil((this.#burst - roundingError - this.#tokens) / this.#perMs)),
    }
  }

  take(): BucketLevel {
    if (this.#tokens + roundingError >= 1) this.#tokens = Math.max(0, this.#tokens - 1)
    return this.level()
  }
}
