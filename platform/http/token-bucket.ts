import { LRUCache } from 'lru-cache'

/** How fast one bucket fills, and how much it holds. */
export interface BucketPolicy {
  readonly perMinute: number
  /** Requests that may come at once. */
  readonly burst: number
}

/** One key's bucket as it is now. */
export interface BucketLevel {
  /** Whole requests that may come now. */
  readonly remaining: number
  /** Milliseconds until the next request may come; 0 when one may. */
  readonly nextInMs: number
  /** Milliseconds until the bucket is full again. */
  readonly fullInMs: number
}

/** The buckets of one policy, one for each key. A key that was not seen for long has a full one. */
export interface TokenBuckets {
  levelOf(key: string): BucketLevel
  /** Takes one request out of the key's bucket, if one is in it. */
  take(key: string): BucketLevel
}

interface Bucket {
  tokens: number
  atMs: number
}

/** As many keys are remembered: whoever calls has credentials or an address, so there are no more that matter. */
const mostKeys = 20_000
/** Sums of fractions come out a little below the whole number that they stand for. */
const roundingError = 1e-6

/** `now` in milliseconds, of a clock that does not jump. */
export function createTokenBuckets({ perMinute, burst }: BucketPolicy, now: () => number): TokenBuckets {
  const buckets = new LRUCache<string, Bucket>({ max: mostKeys })
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
