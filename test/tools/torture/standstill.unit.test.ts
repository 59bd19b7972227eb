import { expect, test } from 'vitest'
import { checkFollowers, longestStandstill, standstills } from '../../../tools/torture/stage/standstill.ts'

const failure = { name: 'a failure', from: 10_000, to: 15_000 }

test('the longest time between two moves that a failure touches is its standstill', () => {
  expect(longestStandstill([0, 8_000, 10_500, 12_000, 16_000, 30_000], failure)).toBe(4_000)
  expect(longestStandstill([0, 9_000, 17_000, 40_000], failure)).toBe(8_000)
  expect(longestStandstill([], failure)).toBe(0)
})

test('a follower that goes on too late after the return, or never, is found', () => {
  const moves = new Map([
    ['prompt', [9_000, 15_100]],
    ['late', [9_000, 25_001]],
    ['lost', [9_000, 14_000]],
  ])
  const found = standstills([failure], [9_500, 15_500], moves)
  expect(found).toMatchObject([
    {
      writesMs: 6_000,
      followers: [
        ['late', 16_001],
        ['prompt', 6_100],
        ['lost', 5_000],
      ],
    },
  ])
  expect(checkFollowers(found, moves)).toMatchObject({
    examined: 3,
    findings: [{ what: 'late went on after 10001 ms' }, { what: 'lost went on after Infinity ms' }],
  })
})
