import { LRUCache } from 'lru-cache'
import { atMost } from '../kit/at-most.ts'
import { createTokenBuckets } from './token-bucket.ts'

/**
 * Delays after failures of one origin. A number of failures per minute is free. Each further one adds a delay, twice as
 * long as the one before.
 */
export interface FailureDelays {
  /** Milliseconds until the next attempt; 0 if one is allowed now. */
  waitMs(origin: string): number
  note(origin: string): void
}

interface Delay {
  readonly untilMs: number
  readonly lengthMs: number
}

const firstDelayMs = 1000
const longestDelayMs = 300_000
/** After this long without a failure, the delay is reset. */
const forgetAfterMs = 600_000
const mostOrigins = 20_000

/** `perMinute` 0 turns it off. `now` is a monotonic clock in milliseconds. */
export function createFailureDelays(perMinute: number, now: () => number): FailureDelays {
  if (perMinute === 0) return { waitMs: () => 0, note: () => undefined }
  const free = createTokenBuckets({ perMinute, burst: perMinute }, now)
  const delays = new LRUCache<string, Delay>(atMost(mostOrigins))

  return {
    waitMs: (origin) => Math.max(0, Math.ceil((delays.get(origin)?.untilMs ?? 0) - now())),
    note(origin) {
      const bucket = free.of(origin)
      const isFree = bucket.level().remaining > 0
      bucket.take()
      if (isFree) return
      const last = delays.get(origin)
      const isRecent = last !== undefined && now() < last.untilMs + forgetAfterMs
      const lengthMs = isRecent ? Math.min(last.lengthMs * 2, longestDelayMs) : firstDelayMs
      delays.set(origin, { untilMs: now() + lengthMs, lengthMs })
    },
  }
}
