/** A member of an answer from outside, undefined where there is none. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.getOwnPropertyDescriptor(value, name)?.value
}

/** Whole numbers that events and tables hold; an outside system may send any other. */
export function isInt32(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 2_147_483_647
}

const longestMs = 86_400_000

/**
 * How long a `Retry-After` asks to wait, in milliseconds: seconds or an HTTP date (RFC 9110, 10.2.3), at most a day.
 * 0 without one, or for one that says nothing.
 */
export function readRetryAfter(header: string | string[] | undefined, now: Date): number {
  if (typeof header !== 'string') return 0
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now.getTime()
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), longestMs) : 0
}
