import { beforeEach, describe, expect, it } from 'vitest'
import { Looks } from '../../../processes/runtime/looks.ts'

const now = new Date('2030-01-01T00:00:00.000Z')
const later = (ms: number) => new Date(now.getTime() + ms)
const nothing = () => undefined

let looks: Looks
beforeEach(() => {
  looks = new Looks()
})

/** A look at 1,000 ms. */
function look({ isHungry = false, inHand = 0 } = {}): void {
  looks.begin(1_000)
  looks.end(now, isHungry, inHand)
}

describe('a desk', () => {
  it('looks at the beginning, and again when there are news', () => {
    expect(looks.isStirred).toBe(true)
    look()
    expect(looks.isStirred).toBe(false)
    looks.stir()
    expect(looks.isStirred).toBe(true)
  })

  it('looks after a step only where rows may have been left for want of workers', () => {
    look({ inHand: 8 })
    looks.stepEnded(20)
    expect(looks.isStirred).toBe(false)
    look({ isHungry: true, inHand: 8 })
    looks.stepEnded(20)
    expect(looks.isStirred).toBe(true)
  })

  it('keeps news that come during a look', () => {
    looks.begin(1_000)
    looks.stir()
    looks.end(now, false, 0)
    expect(looks.isStirred).toBe(true)
  })

  it('gathers news for a moment after a look, unless a quarter of the steps is over', () => {
    expect(looks.restsUntilMs).toBeLessThan(0)
    look({ isHungry: true, inHand: 8 })
    looks.stepEnded(20)
    expect(looks.restsUntilMs).toBe(1_010)
    looks.stepEnded(20)
    expect(looks.restsUntilMs).toBe(0)
  })
})

describe('where rows wait for workers', () => {
  it('news are gathered for a quarter of what a step usually takes, in bounds, whatever single ones take', () => {
    const restOf = (durations: readonly number[]) => {
      for (const ms of durations) {
        look({ isHungry: true, inHand: 64 })
        looks.stepEnded(ms)
      }
      return Math.round(looks.restsUntilMs - 1_000)
    }
    expect(restOf([1, 1, 1])).toBe(10)
    const usual = Array.from({ length: 40 }, () => 200)
    expect(restOf(usual)).toBeGreaterThan(44)
    expect(restOf([15_000, 15_000])).toBeLessThan(62)
    expect(restOf(Array.from({ length: 40 }, () => 15_000))).toBe(100)
    look({ inHand: 64 })
    expect(looks.restsUntilMs).toBe(1_010)
  })
})

describe('the next instant', () => {
  it('is asked of the list after a quiet moment, from the last look on', () => {
    look()
    expect([looks.asksAtMs, looks.asksAfter(1_019), looks.asksAfter(1_020)]).toEqual([1_020, undefined, now])
    looks.listed(now, later(5_000))
    expect([looks.asksAtMs, looks.asksAfter(1_020), looks.nextAt(nothing)]).toEqual([
      undefined,
      undefined,
      later(5_000),
    ])
    looks.stir()
    expect(looks.asksAfter(2_000)).toBeUndefined()
  })

  it('is not what a list said before the last look', () => {
    look()
    const before = new Date(now.getTime() - 1)
    looks.listed(before, later(1))
    expect(looks.nextAt(nothing)).toBeUndefined()
  })

  it('is the first of all that are known, and none that the last look has served', () => {
    look()
    looks.putOff(later(101))
    looks.putOff(later(-1))
    looks.listed(now, later(900))
    expect(looks.nextAt(nothing)).toEqual(later(150))
    expect(looks.nextAt((since) => (since === now ? later(120) : undefined))).toEqual(later(120))
    looks.begin(1_200)
    looks.end(later(150), false, 0)
    expect(looks.nextAt(nothing)).toBeUndefined()
  })
})
