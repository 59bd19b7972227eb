import { expect, it } from 'vitest'
import { PartedMap } from '../../../engine/aggregates/parted-map.ts'

const names = (count: number) => Array.from({ length: count }, (_, index) => `key-${index}`)

function filled(count: number): PartedMap<number> {
  return names(count).reduce((map, name, index) => map.with(name, index), new PartedMap<number>())
}

const sorted = (values: Iterable<number>) => [...values].toSorted((one, other) => one - other)

it.each([0, 1, 256, 1_000])('keeps all of %i entries', (count) => {
  const map = filled(count)
  expect(map.size).toBe(count)
  expect(names(count).map((name) => [map.has(name), map.get(name)])).toEqual(
    names(count).map((_, index) => [true, index]),
  )
  expect(sorted(map.values())).toEqual(names(count).map((_, index) => index))
  expect(new Map(map)).toEqual(new Map(names(count).map((name, index) => [name, index])))
  expect([map.has('another'), map.get('another')]).toEqual([false, undefined])
})

it('leaves the map before a change as it was', () => {
  const before = filled(300)
  const after = [before.with('one', 1), before.with('key-7', 70), before.without('key-7')]
  expect([before.size, before.has('one'), before.get('key-7')]).toEqual([300, false, 7])
  expect(after.map((map) => [map.size, map.get('one'), map.get('key-7')])).toEqual([
    [301, 1, 7],
    [300, undefined, 70],
    [299, undefined, undefined],
  ])
})

it('is the same without a key that it does not have', () => {
  const map = filled(3)
  expect(map.without('another')).toBe(map)
})
