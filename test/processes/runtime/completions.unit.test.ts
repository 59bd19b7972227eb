import { describe, expect, it } from 'vitest'
import type { Completion } from '../../../processes/runtime/claims.ts'
import { Completions } from '../../../processes/runtime/completions.ts'

const at = (place: bigint) => ({ commit: place, prepare: place })
const completion = (key: string, place?: bigint): Completion => ({
  key,
  step: 'run',
  notBefore: new Date(0),
  fence: place === undefined ? undefined : at(place),
  failures: 0,
})
const keysOf = (completions: readonly Completion[]) => completions.map(({ key }) => key)

const longLease = 20_000

describe('what is to be given back', () => {
  it('waits for nothing where nothing was appended', () => {
    const completions = new Completions()
    completions.add(completion('a'), longLease, 0)
    expect(completions.nextMs()).toBe(0)
    expect(keysOf(completions.take(0))).toEqual(['a'])
    expect([completions.take(0), completions.nextMs()]).toEqual([[], undefined])
  })

  it('waits until its list has seen what was appended', () => {
    const completions = new Completions()
    completions.add(completion('a', 5n), longLease, 0)
    completions.add(completion('b', 7n), longLease, 0)
    completions.reached(at(4n))
    expect(completions.take(10)).toEqual([])
    completions.reached(at(5n))
    expect(keysOf(completions.take(10))).toEqual(['a'])
  })

  it('waits no longer than a moment', () => {
    const completions = new Completions()
    completions.add(completion('a', 5n), longLease, 1_000)
    completions.add(completion('b', 6n), longLease, 1_100)
    expect(completions.nextMs()).toBe(1_250)
    expect(completions.take(1_249)).toEqual([])
    expect(keysOf(completions.take(1_250))).toEqual(['a'])
    expect(keysOf(completions.takeAll())).toEqual(['b'])
  })

  it('never waits for what its lease may not cover', () => {
    const completions = new Completions()
    completions.add(completion('short', 5n), 1_000, 0)
    completions.add(completion('shorter', 5n), 1_100, 0)
    expect(keysOf(completions.take(0))).toEqual(['short'])
    expect(completions.nextMs()).toBe(100)
  })

  it('is there again when it could not be given back', () => {
    const completions = new Completions()
    completions.add(completion('a'), longLease, 0)
    completions.putBack(completions.take(0))
    expect(keysOf(completions.take(0))).toEqual(['a'])
  })
})
