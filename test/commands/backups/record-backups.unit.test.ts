import { expect, test } from 'vitest'
import { recordRestored, recordVerified, releaseCalls } from '../../../commands/backups/record-backups.ts'
import { backups, type BackupState } from '../../../streams/backups/aggregate.ts'
import type { BackupEvent } from '../../../streams/backups/events.ts'
import { isRefusal, type Decision } from '../../../engine/commands/decision.ts'

const [early, late] = ['2026-11-28T10:00:00.000Z', '2026-11-28T11:00:00.000Z']
const verified = { backupId: 'a', position: '1/1', events: 1, bytes: 2, createdAt: early, verifiedAt: late }
const restored = { backupId: 'a', position: '1/1', factsUntil: early, restoredAt: late, by: 'operator' }
const release = { by: 'operator', now: new Date(late) }

function after(state: BackupState, decision: Decision<BackupEvent>): BackupState {
  if (isRefusal(decision)) throw new Error('refused')
  return decision.reduce<BackupState>((before, event) => backups.evolve(before, event), state)
}

test('the newest verified backup counts, however often it is recorded', () => {
  const once = after(backups.initialState, recordVerified(verified, backups.initialState))
  expect(once.newestAt).toBe(early)
  expect(recordVerified(verified, once)).toEqual([])
  const newer = { ...verified, backupId: 'b', createdAt: late }
  const twice = after(once, recordVerified(newer, once))
  expect([twice.newestAt, recordVerified(verified, twice)]).toEqual([late, []])
})

test('a backup counts also after one of a clock that was ahead', () => {
  const ahead = { ...backups.initialState, newestAt: '2027-11-28T10:00:00.000Z' }
  expect(after(ahead, recordVerified(verified, ahead)).newestAt).toBe(early)
})

test('a restore holds the calls until an operator releases them', () => {
  expect(releaseCalls(release, backups.initialState)).toEqual([])
  const held = after(backups.initialState, recordRestored(restored, backups.initialState))
  expect(held.held).toEqual({ backupId: 'a', since: late })
  expect(recordRestored(restored, held)).toEqual([])
  const released = after(held, releaseCalls(release, held))
  expect([released.held, releaseCalls(release, released)]).toEqual([null, []])
})
