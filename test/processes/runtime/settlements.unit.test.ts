import { describe, expect, it } from 'vitest'
import type { Settlement } from '../../../processes/runtime/claims.ts'
import { Settlements } from '../../../processes/runtime/settlements.ts'

const at = (place: bigint) => ({ commit: place, prepare: place })
const settlement = (key: string, place?: bigint): Settlement => ({
  key,
  step: 'run',
  notBefore: new Date(0),
  fence: place === undefined ? undefined : at(place),
  failures: 0,
})
const keysOf = (settlements: readonly Settlement[]) => settlements.map(({ key }) => key)

const longLease = 20_000

describe('what is to be given back', () => {
  it('waits for nothing where nothing was appended', () => {
    const settlements = new Settlements()
    settlements.add(settlement('a'), longLease, 0)
    expect(settlements.nextMs()).toBe(0)
    expect(keysOf(settlements.take(0))).toEqual(['a'])
    expect([settlements.take(0), settlements.nextMs()]).toEqual([[], undefined])
  })

  it('waits until its list has seen what was appended', () => {
    const settlements = new Settlements()
    settlements.add(settlement('a', 5n), longLease, 0)
    settlements.add(settlement('b', 7n), longLease, 0)
    settlements.reached(at(4n))
    expect(settlements.take(10)).toEqual([])
    settlements.reached(at(5n))
    expect(keysOf(settlements.take(10))).toEqual(['a'])
  })

  it('waits no longer than a moment', () => {
    const settlements = new Settlements()
    settlements.add(settlement('a', 5n), longLease, 1_000)
    settlements.add(settlement('b', 6n), longLease, 1_100)
    expect(settlements.nextMs()).toBe(1_250)
    expect(settlements.take(1_249)).toEqual([])
    expect(keysOf(settlements.take(1_250))).toEqual(['a'])
    expect(keysOf(settlements.takeAll())).toEqual(['b'])
  })

  it('never waits for what its lease may not cover', () => {
    const settlements = new Settlements()
    settlements.add(settlement('short', 5n), 1_000, 0)
    settlements.add(settlement('shorter', 5n), 1_100, 0)
    expect(keysOf(settlements.take(0))).toEqual(['short'])
    expect(settlements.nextMs()).toBe(100)
  })

  it('is there again when it could not be given back', () => {
    const settlements = new Settlements()
    settlements.add(settlement('a'), longLease, 0)
    settlements.putBack(settlements.take(0))
    expect(keysOf(settlements.take(0))).toEqual(['a'])
  })
})
