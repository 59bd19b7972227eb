import { array, assert, nat, property } from 'fast-check'
import { expect, test } from 'vitest'
import { LruMap } from '../../streams/lru-map.ts'

const SIZE = 8

function heldOf(map: LruMap<number, string>, keys: Iterable<number>): number[] {
  return [...keys].filter((key) => map.get(key) !== undefined)
}

test('returns the last value of a key, keeps the newer half, and holds at most its size', () => {
  assert(
    property(array(nat(30), { maxLength: 200 }), (keys) => {
      const map = new LruMap<number, string>(SIZE)
      const latest = new Map<number, string>()
      for (const [turn, key] of keys.entries()) {
        map.set(key, `turn ${turn}`)
        latest.delete(key)
        latest.set(key, `turn ${turn}`)
        const held = heldOf(map, latest.keys())
        expect(held.length).toBeLessThanOrEqual(SIZE)
        for (const one of held) expect(map.get(one)).toBe(latest.get(one))
        expect(held).toEqual(expect.arrayContaining([...latest.keys()].slice(-SIZE / 2)))
      }
    }),
  )
})

test('keeps an entry while it must not be dropped', () => {
  const needed = new Set([3, 4])
  const map = new LruMap<number, number>(SIZE, (value) => !needed.has(value))
  const keys = Array.from({ length: 100 }, (_, key) => key)
  for (const key of keys) map.set(key, key)
  expect(keys.filter((key) => map.get(key) !== undefined)).toEqual(expect.arrayContaining([3, 4, 99]))
  needed.clear()
  for (const key of keys.slice(50)) map.set(key, key)
  expect([map.get(3), map.get(4)]).toEqual([undefined, undefined])
})
