import { setTimeout as delay } from 'node:timers/promises'

export interface Backoff {
  /** Milliseconds before the second try; doubled for each one after it. */
  readonly firstMs: number
  readonly mostMs: number
}

/** Milliseconds to wait before try `attempt` + 1 (attempts from 1): half fixed, half random, so that waiters spread out. */
export function backoffMs({ firstMs, mostMs }: Backoff, attempt: number, random: () => number = Math.random): number {
  const full = Math.min(mostMs, firstMs * 2 ** Math.min(attempt - 1, 30))
  return full / 2 + (random() * full) / 2
}

/** Waits, or returns early when `signal` aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  try {
    await delay(ms, undefined, signal === undefined ? {} : { signal })
  } catch {
    // Aborted: whoever waits looks at the signal next.
  }
}
