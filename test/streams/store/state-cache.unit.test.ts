import { expect, it } from 'vitest'
import type { Fold } from '../../../streams/store/events.ts'
import { StateCache } from '../../../streams/store/state-cache.ts'

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
  const cache = new StateCache(10)
  cache.advance(note('note-1'), at(5n))
  cache.advance(note('note-1'), at(4n))
  expect(cache.get(note('note-1'))).toEqual(at(5n))
  cache.advance(note('note-1'), at(6n))
  expect(cache.get(note('note-1'))).toEqual(at(6n))
})

it('separates folds and streams, and keeps no more entries than its size', () => {
  const cache = new StateCache(2)
  cache.advance(note('note-1'), at(1n))
  expect(cache.get({ fold: { ...fold }, stream: 'note-1' })).toBeUndefined()
  cache.advance(note('note-2'), at(2n))
  cache.advance(note('note-3'), at(3n))
  expect(['note-1', 'note-2', 'note-3'].map((stream) => cache.get(note(stream))?.revision)).toEqual([undefined, 2n, 3n])
})
