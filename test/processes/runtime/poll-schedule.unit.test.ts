import { beforeEach, describe, expect, it } from 'vitest'
import { PollSchedule } from '../../../processes/runtime/poll-schedule.ts'

const now = new Date('2030-01-01T00:00:00.000Z')
const later = (ms: number) => new Date(now.getTime() + ms)
const nothing = () => undefined

let schedule: PollSchedule
beforeEach(() => {
  schedule = new PollSchedule()
})

/** A look at 1,000 ms. */
function look({ isHungry = false, inHand = 0 } = {}): void {
  schedule.begin(1_000)
  schedule.end(now, isHungry, inHand)
}

describe('a worker', () => {
  it('schedule at the beginning, and again when there are news', () => {
    expect(schedule.isStirred).toBe(true)
    look()
    expect(schedule.isStirred).toBe(false)
    schedule.stir()
    expect(schedule.isStirred).toBe(true)
  })

  it('schedule after a step only where rows may have been left for want of workers', () => {
    look({ inHand: 8 })
    schedule.stepEnded(20)
    expect(schedule.isStirred).toBe(false)
    look({ isHungry: true, inHand: 8 })
    schedule.stepEnded(20)
    expect(schedule.isStirred).toBe(true)
  })

  it('keeps news that come during a look', () => {
    schedule.begin(1_000)
    schedule.stir()
    schedule.end(now, false, 0)
    expect(schedule.isStirred).toBe(true)
  })

  it('gathers news for a moment after a look, unless a quarter of the steps is over', () => {
    expect(schedule.restsUntilMs).toBeLessThan(0)
    look({ isHungry: true, inHand: 8 })
    schedule.stepEnded(20)
    expect(schedule.restsUntilMs).toBe(1_010)
    schedule.stepEnded(20)
    expect(schedule.restsUntilMs).toBe(0)
  })
})

describe('where rows wait for workers', () => {
  it('news are gathered for a quarter of what a step usually takes, in bounds, whatever single ones take', () => {
    const restOf = (durations: readonly number[]) => {
      for (const ms of durations) {
        look({ isHungry: true, inHand: 64 })
        schedule.stepEnded(ms)
      }
      return Math.round(schedule.restsUntilMs - 1_000)
    }
    expect(restOf([1, 1, 1])).toBe(10)
    const usual = Array.from({ length: 40 }, () => 200)
    expect(restOf(usual)).toBeGreaterThan(44)
    expect(restOf([15_000, 15_000])).toBeLessThan(62)
    expect(restOf(Array.from({ length: 40 }, () => 15_000))).toBe(100)
    look({ inHand: 64 })
    expect(schedule.restsUntilMs).toBe(1_010)
  })
})

describe('the next instant', () => {
  it('is asked of the list after a quiet moment, from the last look on', () => {
    look()
    expect([schedule.asksAtMs, schedule.asksAfter(1_019), schedule.asksAfter(1_020)]).toEqual([1_020, undefined, now])
    schedule.listed(now, later(5_000))
    expect([schedule.asksAtMs, schedule.asksAfter(1_020), schedule.nextAt(nothing)]).toEqual([
      undefined,
      undefined,
      later(5_000),
    ])
    schedule.stir()
    expect(schedule.asksAfter(2_000)).toBeUndefined()
  })

  it('is not what a list said before the last look', () => {
    look()
    const before = new Date(now.getTime() - 1)
    schedule.listed(before, later(1))
    expect(schedule.nextAt(nothing)).toBeUndefined()
  })

  it('is the first of all that are known, and none that the last look has served', () => {
    look()
    schedule.putOff(later(101))
    schedule.putOff(later(-1))
    schedule.listed(now, later(900))
    expect(schedule.nextAt(nothing)).toEqual(later(150))
    expect(schedule.nextAt((since) => (since === now ? later(120) : undefined))).toEqual(later(120))
    schedule.begin(1_200)
    schedule.end(later(150), false, 0)
    expect(schedule.nextAt(nothing)).toBeUndefined()
  })
})
