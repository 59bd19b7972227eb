import { vi } from 'vitest'

/** Longer than any busy machine needs. A test that reaches it has failed. In milliseconds. */
const limitMs = 120_000

/** Calls the check until it no longer throws, and resolves with its result. Rejects with its last error after two minutes. */
export function eventually<Result>(check: () => Promise<Result> | Result): Promise<Result> {
  return vi.waitFor(check, { timeout: limitMs, interval: 20 })
}
