import { expect, it } from 'vitest'
import { createCircuitBreaker } from '../../../platform/outbound/circuit-breaker.ts'

it('reports how long a circuit is open without taking its trial', () => {
  let now = 0
  const breaker = createCircuitBreaker({ threshold: 2, openMs: 1000, now: () => now })
  breaker.report('a', 'failure')
  expect(breaker.openForMs('a')).toBe(0)
  breaker.report('a', 'failure')
  now = 400
  expect([breaker.openForMs('a'), breaker.openForMs('b')]).toEqual([600, 0])
  now = 1000
  expect([breaker.openForMs('a'), breaker.openForMs('a')]).toEqual([0, 0])
  expect([breaker.waitMs('a'), breaker.waitMs('a')]).toEqual([0, 1000])
})

it('is open for other callers during its trial', () => {
  let now = 0
  const breaker = createCircuitBreaker({ threshold: 1, openMs: 1000, now: () => now })
  breaker.report('a', 'failure')
  now = 1000
  expect(breaker.waitMs('a')).toBe(0)
  now = 5000
  expect(breaker.openForMs('a')).toBe(1000)
  breaker.report('a', 'unknown')
  expect([breaker.openForMs('a'), breaker.waitMs('a'), breaker.openForMs('a')]).toEqual([0, 0, 1000])
  breaker.report('a', 'success')
  expect([breaker.openForMs('a'), breaker.waitMs('a')]).toEqual([0, 0])
})
