import { afterEach, expect, it, vi } from 'vitest'
import { readRetryAfter } from '../../../platform/outbound/outside-answers.ts'

afterEach(() => vi.unstubAllEnvs())

const now = new Date('1994-11-06T08:49:07Z')

it.each([
  ['30', 30_000],
  ['0', 0],
  ['999999999', 86_400_000],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 30_000],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 30_000],
  ['Sun Nov  6 08:49:37 1994', 30_000],
  ['Sun, 06 Nov 1994 08:49:37 +0000', 30_000],
  ['1994-11-06T08:49:37Z', 30_000],
  ['Sun, 06 Nov 1994 08:49:00 GMT', 0],
  ['Mon, 06 Nov 1995 08:49:37 GMT', 86_400_000],
  ['soon', 0],
  ['-5', 0],
  ['', 0],
])('reads a Retry-After of %j', (header, waitMs) => {
  expect(readRetryAfter(header, now)).toBe(waitMs)
})

it.each(['Europe/Zurich', 'America/New_York', 'Asia/Kolkata'])('reads each form of date alike in %s', (zone) => {
  vi.stubEnv('TZ', zone)
  expect(new Date(2026, 0, 1).toISOString()).not.toContain('T00:00')
  const dates = ['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994']
  expect(dates.map((date) => readRetryAfter(date, now))).toEqual([30_000, 30_000, 30_000])
})
