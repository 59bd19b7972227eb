import { expect, test } from 'vitest'
import { createTurns } from '../../../platform/kit/turns.ts'

test('runs so many tasks at a time, the others in their order, also after one that fails', async () => {
  const turns = createTurns(2)
  const begun: number[] = []
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<number>())
  const results = ends.map((end, number) =>
    turns
      .run(() => {
        begun.push(number)
        return end.promise
      })
      .catch(() => -1),
  )
  await Promise.resolve()
  expect([begun, turns.waiting]).toEqual([[0, 1], 3])
  ends[1]?.reject(new Error('failed'))
  expect(await results[1]).toBe(-1)
  ends[0]?.resolve(0)
  await results[0]
  expect([begun, turns.waiting]).toEqual([[0, 1, 2, 3], 1])
  for (const [number, end] of ends.entries()) end.resolve(number)
  expect(await Promise.all(results)).toEqual([0, -1, 2, 3, 4])
  expect(await turns.run(async () => 7)).toBe(7)
})
