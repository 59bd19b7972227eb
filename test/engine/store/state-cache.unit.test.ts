import { describe, expect, it } from 'vitest'
import { GrowingMap } from '../../../engine/aggregates/growing-map.ts'
import type { Fold } from '../../../engine/store/events.ts'
import { sizeOfState, StateCache } from '../../../engine/store/state-cache.ts'

const fold: Fold<string, { type: 'Noted'; data: object }> = {
  category: 'note',
  initialState: '',
  evolve: (state) => state,
}
const note = (stream: string) => ({ fold, stream })
const at = (revision: bigint) => ({
  state: `at ${revision}`,
  revision,
  position: { commit: revision, prepare: revision },
})

it('keeps the newest state, whichever is stored last', () => {
  const cache = new StateCache({ mostStates: 10, mostBytes: 10_000 })
  cache.advance(note('note-1'), at(5n))
  cache.advance(note('note-1'), at(4n))
  expect(cache.get(note('note-1'))).toEqual(at(5n))
  cache.advance(note('note-1'), at(6n))
  expect(cache.get(note('note-1'))).toEqual(at(6n))
})

it('separates folds and streams, and keeps no more entries than its size', () => {
  const cache = new StateCache({ mostStates: 2, mostBytes: 10_000 })
  cache.advance(note('note-1'), at(1n))
  expect(cache.get({ fold: { ...fold }, stream: 'note-1' })).toBeUndefined()
  cache.advance(note('note-2'), at(2n))
  cache.advance(note('note-3'), at(3n))
  expect(['note-1', 'note-2', 'note-3'].map((stream) => cache.get(note(stream))?.revision)).toEqual([undefined, 2n, 3n])
})

describe('the bytes of all states', () => {
  const limits = { mostStates: 100, mostBytes: 10_000 }
  const large = (revision: bigint, length: number) => ({ ...at(revision), state: 'x'.repeat(length) })
  const keptOf = (cache: StateCache, streams: readonly string[]) =>
    streams.filter((stream) => cache.get(note(stream)) !== undefined)

  it('are limited, whether the states were loaded or appended to', () => {
    const cache = new StateCache(limits)
    for (const stream of ['note-1', 'note-2', 'note-3']) cache.advance(note(stream), large(1n, 4_000))
    expect(keptOf(cache, ['note-1', 'note-2', 'note-3'])).toEqual(['note-2', 'note-3'])
    cache.advance(note('note-2'), large(2n, 7_000), { grownBy: 3_000 })
    expect(keptOf(cache, ['note-2', 'note-3'])).toEqual(['note-2'])
  })

  it('are those of the present states, not of all events', () => {
    const cache = new StateCache(limits)
    for (let revision = 1n; revision < 100n; revision += 1n)
      cache.advance(note('note-1'), large(revision, 500), { grownBy: 500 })
    cache.advance(note('note-2'), large(1n, 8_000))
    expect(keptOf(cache, ['note-1', 'note-2'])).toEqual(['note-1', 'note-2'])
  })

  it('leave out a state that is larger than all of them may be, and its older version', () => {
    const cache = new StateCache(limits)
    cache.advance(note('note-1'), large(1n, 100))
    cache.advance(note('note-1'), large(2n, 20_000), { grownBy: 20_000 })
    expect(keptOf(cache, ['note-1'])).toEqual([])
  })

  it('count texts in objects, lists, maps and growing maps', () => {
    const text = 'x'.repeat(1_000)
    const states = [{ a: { b: text } }, [[text]], new Map([['a', text]]), new GrowingMap<string>().with('a', text)]
    for (const state of states) expect(sizeOfState(state)).toBeGreaterThan(1_000)
    for (const state of states) expect(sizeOfState(state)).toBeLessThan(1_300)
  })
})
