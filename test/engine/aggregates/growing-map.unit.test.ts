import { expect, it } from 'vitest'
import { GrowingMap } from '../../../engine/aggregates/growing-map.ts'

const names = (count: number) => Array.from({ length: count }, (_, index) => `key-${index}`)

function filled(count: number): GrowingMap<number | null> {
  return names(count).reduce(
    (map, name, index) => map.with(name, index === 0 ? null : index),
    new GrowingMap<number | null>(),
  )
}

it.each([0, 1, 31, 32, 33, 1_000])('keeps all of %i entries in their order', (count) => {
  const map = filled(count)
  expect([...map]).toEqual(names(count).map((name, index) => [name, index === 0 ? null : index]))
  expect(names(count).every((name) => map.has(name))).toBe(true)
  expect(names(count).map((name) => map.get(name))).toEqual(
    names(count).map((_, index) => (index === 0 ? null : index)),
  )
  expect([map.has('another'), map.get('another')]).toEqual([false, undefined])
})

it.each([3, 32])('leaves the map before an addition unchanged: %i entries', (count) => {
  const before = filled(count)
  const after = [before.with('one', 1), before.with('other', 2)]
  expect([[...before].length, before.has('one'), before.has('other')]).toEqual([count, false, false])
  expect(after.map((map) => [map.get('one'), map.get('other'), [...map].length])).toEqual([
    [1, undefined, count + 1],
    [undefined, 2, count + 1],
  ])
})

it.each([0, 31, 32, 1_000])('returns the last value of a key that was added again after %i others', (count) => {
  const first = new GrowingMap<number | null>().with('one', 1)
  const map = names(count)
    .reduce((before, name) => before.with(name, 0), first)
    .with('one', 2)
  expect([first.get('one'), map.get('one'), map.has('one')]).toEqual([1, 2, true])
})
