import { expect, it } from 'vitest'
import { backoffMs, pause } from '../../../platform/kit/backoff.ts'

const backoff = { firstMs: 100, mostMs: 1_000 }

it('doubles up to its limit', () => {
  expect([1, 2, 3, 10, 1_000].map((attempt) => backoffMs(backoff, attempt, () => 1))).toEqual([
    100, 200, 400, 1_000, 1_000,
  ])
})

it('randomises half of each wait', () => {
  expect([0, 0.5].map((random) => backoffMs(backoff, 3, () => random))).toEqual([200, 300])
})

it('returns early, without an error, if its signal is aborted', async () => {
  const controller = new AbortController()
  const waiting = pause(3_600_000, controller.signal)
  controller.abort()
  expect(await waiting).toBeUndefined()
})
