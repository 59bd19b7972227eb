import { expect, it } from 'vitest'
import { openLeaseEnd } from '../../../engine/commands/decision.ts'

const leaseUntil = '2026-03-01T10:00:20.000Z'

it('waits for an open attempt until its lease ends, and not at that instant', () => {
  expect(openLeaseEnd(leaseUntil, new Date('2026-03-01T10:00:19.999Z'))).toEqual(new Date(leaseUntil))
  expect(openLeaseEnd(leaseUntil, new Date(leaseUntil))).toBeNull()
})

it('does not wait without an open attempt', () => {
  expect([openLeaseEnd(null, new Date(0)), openLeaseEnd(undefined, new Date(0))]).toEqual([null, null])
})

it('does not wait for a lease from a clock that was ahead', () => {
  expect(openLeaseEnd(leaseUntil, new Date('2026-03-01T09:58:20.000Z'))).toEqual(new Date(leaseUntil))
  expect(openLeaseEnd(leaseUntil, new Date('2026-03-01T09:58:19.999Z'))).toBeNull()
  expect(openLeaseEnd(leaseUntil, new Date('2026-03-01T07:00:00.000Z'))).toBeNull()
})
