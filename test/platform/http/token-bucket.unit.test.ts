import { describe, expect, it } from 'vitest'
import { createFailureDelays } from '../../../platform/http/failure-delays.ts'
import { createTokenBuckets } from '../../../platform/http/token-bucket.ts'

function moved() {
  let nowMs = 1_000_000
  return {
    now: () => nowMs,
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

describe('a bucket', () => {
  it('allows its burst at once and fills evenly', () => {
    const clock = moved()
    const buckets = createTokenBuckets({ perMinute: 600, burst: 100 }, clock.now)
    for (let left = 99; left >= 0; left -= 1) expect(buckets.of('a').take().remaining).toBe(left)
    expect(buckets.of('a').level()).toEqual({ remaining: 0, nextInMs: 100, fullInMs: 10_000 })
    clock.pass(99)
    expect(buckets.of('a').level()).toMatchObject({ remaining: 0, nextInMs: 1 })
    clock.pass(1)
    expect(buckets.of('a').take()).toMatchObject({ remaining: 0, nextInMs: 100 })
    clock.pass(5_000)
    expect(buckets.of('a').level().remaining).toBe(50)
    clock.pass(3_600_000)
    expect(buckets.of('a').level()).toEqual({ remaining: 100, nextInMs: 0, fullInMs: 0 })
  })

  it('allows the rate of its policy, whatever the rhythm of requests', () => {
    const clock = moved()
    const buckets = createTokenBuckets({ perMinute: 60, burst: 7 }, clock.now)
    let taken = 0
    for (let step = 0; step < 10_000; step += 1) {
      if (buckets.of('a').level().remaining > 0) {
        buckets.of('a').take()
        taken += 1
      }
      clock.pass(17)
    }
    expect(taken).toBe(7 + 170 - 1)
  })

  it('belongs to one key', () => {
    const clock = moved()
    const buckets = createTokenBuckets({ perMinute: 1, burst: 1 }, clock.now)
    buckets.of('a').take()
    expect([buckets.of('a').level().remaining, buckets.of('b').level().remaining]).toEqual([0, 1])
  })

  it('never goes below zero: without refusals it counts down to zero', () => {
    const clock = moved()
    const buckets = createTokenBuckets({ perMinute: 60, burst: 2 }, clock.now)
    for (let time = 0; time < 10; time += 1) buckets.of('a').take()
    expect(buckets.of('a').level()).toEqual({ remaining: 0, nextInMs: 1000, fullInMs: 2000 })
  })
})

describe('failures', () => {
  it('are free up to their number per minute, then each one doubles the delay', () => {
    const clock = moved()
    const delays = createFailureDelays(3, clock.now)
    for (let time = 0; time < 3; time += 1) delays.note('a')
    expect(delays.waitMs('a')).toBe(0)
    const waits: number[] = []
    for (let time = 0; time < 4; time += 1) {
      delays.note('a')
      waits.push(delays.waitMs('a'))
      clock.pass(delays.waitMs('a'))
      expect(delays.waitMs('a')).toBe(0)
    }
    expect([waits, delays.waitMs('b')]).toEqual([[1000, 2000, 4000, 8000], 0])
  })

  it('delay at most five minutes, and are forgotten ten minutes after the last', () => {
    const clock = moved()
    const delays = createFailureDelays(1, clock.now)
    let longest = 0
    for (let time = 0; time < 40; time += 1) {
      delays.note('a')
      longest = Math.max(longest, delays.waitMs('a'))
      clock.pass(delays.waitMs('a'))
    }
    expect(longest).toBe(300_000)
    clock.pass(600_000)
    delays.note('a')
    delays.note('a')
    expect(delays.waitMs('a')).toBe(1000)
  })

  it('never delay if they are not counted', () => {
    const delays = createFailureDelays(0, () => 0)
    for (let time = 0; time < 100; time += 1) delays.note('a')
    expect(delays.waitMs('a')).toBe(0)
  })
})
