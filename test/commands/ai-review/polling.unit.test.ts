import { array, assert, integer, property, record } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextPollAt, pollScheduleOf, type PollSchedule } from '../../../commands/ai-review/polling.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'

const start = Date.parse('2026-03-01T10:00:00.000Z')
const defaults = loadConfiguration({})
/** A schedule with the time budget that gives the deadline. */
interface Budgeted extends PollSchedule {
  readonly timeoutMs: number
}

const schedule: Budgeted = {
  ...pollScheduleOf(defaults),
  timeoutMs: defaults.providerResultTimeoutMs,
}

/** Times of all polls, in milliseconds from the start, if each runs at its time and finds no result. */
function polls(of: Budgeted, retryAfterMs = 0): number[] {
  const deadlineAt = new Date(start + of.timeoutMs)
  const made: number[] = []
  let at = nextPollAt(of, { attemptCount: 0, deadlineAt }, new Date(start))
  while (at !== null) {
    made.push(at.getTime() - start)
    at = nextPollAt(of, { attemptCount: made.length, deadlineAt }, at, retryAfterMs)
  }
  return made
}

describe('the polling schedule', () => {
  it('by default polls at 5, 10, 25, 55, 115, 235 and 535 s, and the last time exactly at 600 s', () => {
    expect(polls(schedule).map((ms) => ms / 1000)).toEqual([5, 10, 25, 55, 115, 235, 535, 600])
  })

  it('ends at the number of attempts if that comes before the deadline', () => {
    expect(polls({ ...schedule, maxAttempts: 3 })).toEqual([5_000, 10_000, 25_000])
  })

  it('repeats the last delay', () => {
    expect(polls({ initialDelayMs: 1, backoffMs: [2, 3], maxAttempts: 6, timeoutMs: 1_000 })).toEqual([
      1, 3, 6, 9, 12, 15,
    ])
  })

  it('waits as long as the provider requests, but never past the deadline', () => {
    expect(polls(schedule, 60_000).slice(0, 4)).toEqual([5_000, 65_000, 125_000, 185_000])
    expect(polls(schedule, 3_600_000)).toEqual([5_000, 600_000])
    expect(polls(schedule, 1)).toEqual(polls(schedule))
  })

  it('makes a poll that an outage delayed past the deadline, and then ends', () => {
    const deadlineAt = new Date(start + 600_000)
    expect(nextPollAt(schedule, { attemptCount: 3, deadlineAt }, new Date(start + 900_000))).toBeNull()
    expect(nextPollAt(schedule, { attemptCount: 3, deadlineAt }, deadlineAt)).toBeNull()
  })

  it('rises, ends at the deadline at the latest, and stays within the limits for every configuration', () => {
    const arbitrary = record({
      initialDelayMs: integer({ min: 1, max: 10_000 }),
      backoffMs: array(integer({ min: 1, max: 10_000 }), { minLength: 1, maxLength: 8 }),
      maxAttempts: integer({ min: 1, max: 50 }),
      timeoutMs: integer({ min: 1, max: 100_000 }),
    })
    assert(
      property(arbitrary, (of) => {
        const made = polls(of)
        expect(made.length).toBeGreaterThan(0)
        expect(made.length).toBeLessThanOrEqual(of.maxAttempts)
        expect(made.every((at, index) => at > (made[index - 1] ?? 0))).toBe(true)
        expect(made.at(-1)).toBeLessThanOrEqual(of.timeoutMs)
        if (made.length < of.maxAttempts) expect(made.at(-1)).toBe(of.timeoutMs)
      }),
    )
  })
})
