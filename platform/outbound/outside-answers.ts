/** A member of an answer from outside. Undefined if there is none. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.getOwnPropertyDescriptor(value, name)?.value
}

/** The whole numbers that events and tables can store. An outside system may send others. */
export function isInt32(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 2_147_483_647
}

const longestMs = 86_400_000

/**
 * The wait of a `Retry-After` in milliseconds, at most a day. It contains seconds or an HTTP date (RFC 9110, 10.2.3).
 * 0 if it is missing or unreadable. A date without a zone, as of asctime, is in UTC (RFC 9110, 5.6.7).
 */
export function readRetryAfter(header: string | string[] | undefined, now: Date): number {
  if (typeof header !== 'string') return 0
  // Date.parse accepts nearly every text, and reads a date without a zone in the zone of this machine.
  if (!/^(?:\d{1,9}$|[A-Z][a-z]{2,8},? |\d{4}-)/.test(header)) return 0
  const date = /(?:[a-z]|[+-]\d\d:?\d\d)$/i.test(header) ? header : `${header} GMT`
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1000 : Date.parse(date) - now.getTime()
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), longestMs) : 0
}
