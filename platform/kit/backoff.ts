import { setTimeout as delay } from 'node:timers/promises'

export interface Backoff {
  /** Milliseconds before the second attempt; doubled for each later one. */
  readonly firstMs: number
  readonly mostMs: number
}

/**
 * Milliseconds to wait before attempt `attempt` + 1 (attempts from 1). Half of it is fixed and half is random, so
 * waiters spread out.
 */
export function backoffMs({ firstMs, mostMs }: Backoff, attempt: number, random: () => number = Math.random): number {
  const full = Math.min(mostMs, firstMs * 2 ** Math.min(attempt - 1, 30))
  return full / 2 + (random() * full) / 2
}

/** Spreads a delay by up to `ratio` of it in both directions; `random` is from [0, 1). */
export function jittered(delayMs: number, ratio: number, random: () => number): number {
  return Math.round(delayMs * (1 + ratio * (2 * random() - 1)))
}

/** Waits, or returns early when `signal` aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal })
  } catch {
    // Aborted: the caller checks the signal next.
  }
}
