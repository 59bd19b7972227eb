import { LRUCache } from 'lru-cache'
import { createTokenBuckets } from './token-bucket.ts'

/** Failures of one origin: so many a minute are free; each further one has the next ones wait, twice as long each time. */
export interface FailureDelays {
  /** Milliseconds until the origin may fail again, 0 when it may. */
  waitMs(origin: string): number
  note(origin: string): void
}

interface Delay {
  readonly untilMs: number
  readonly lengthMs: number
}

const firstDelayMs = 1000
const longestDelayMs = 300_000
/** A delay is forgotten, and the next one short again, when there was no failure for this long after it. */
const forgetAfterMs = 600_000
const mostOrigins = 20_000

/** `perMinute` 0 turns it off. `now` in milliseconds, of a clock that does not jump. */
export function createFailureDelays(perMinute: number, now: () => number): FailureDelays {
  if (perMinute === 0) return { waitMs: () => 0, note: () => undefined }
  const free = createTokenBuckets({ perMinute, burst: perMinute }, now)
  const delays = new LRUCache<string, Delay>({ max: mostOrigins })

  return {
    waitMs: (origin) => Math.max(0, Math.ceil((delays.get(origin)?.untilMs ?? 0) - now())),
    note(origin) {
      const isFree = free.levelOf(origin).remaining > 0
      free.take(origin)
      if (isFree) return
      const last = delays.get(origin)
      const isRecent = last !== undefined && now() < last.untilMs + forgetAfterMs
      const lengthMs = isRecent ? Math.min(last.lengthMs * 2, longestDelayMs) : firstDelayMs
      delays.set(origin, { untilMs: now() + lengthMs, lengthMs })
    },
  }
}
