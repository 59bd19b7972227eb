import { expect, test } from 'vitest'
import { readBackup } from '../../../app/backup/orders.ts'
import { readCommand } from '../../../app/command-line.ts'

const id = '01a22465-babd-75f8-911e-49735f46ce70'

test.each([
  [['create', '--to', 'p'], { action: 'create', place: 'p', isJson: false }],
  [['list', '--from', 'p', '--json'], { action: 'list', place: 'p', isJson: true }],
  [['verify', '--from', 'p', '--backup', id], { action: 'verify', place: 'p', id, isJson: false }],
  [
    ['restore', '--from', 'p', '--to', 'd', '--accept-lost-erasures'],
    {
      action: 'restore',
      place: 'p',
      id: undefined,
      folder: 'd',
      acceptsLostErasures: true,
      erasures: undefined,
      isJson: false,
    },
  ],
  [['prune', '--from', 'p', '--keep', '7'], { action: 'prune', place: 'p', keep: 7 }],
  [['release'], { action: 'release' }],
])('%j is understood', (args, order) => {
  expect(readBackup(args)).toEqual(order)
  expect(readCommand(['backup', ...args])).toEqual({ name: 'backup', order })
})

test.each([
  [[], 'backup takes create, list, verify, restore, prune, release'],
  [['toString'], 'backup takes create'],
  [['create'], 'backup create needs --to PLACE'],
  [['create', '--to', 'p', '--from', 'p'], "Unknown option '--from'"],
  [['list'], 'backup list needs --from PLACE'],
  [['restore', '--from', 'p'], 'backup restore needs --to DIR'],
  [['verify', '--from', 'p', '--backup', '../x'], '--backup must be an id'],
  [['prune', '--from', 'p'], 'backup prune needs --keep'],
  [['prune', '--from', 'p', '--keep', '0'], 'backup prune needs --keep'],
  [['release', '--to', 'p'], "Unknown option '--to'"],
])('%j is refused', (args, reason) => {
  expect(() => readBackup(args)).toThrow(reason)
})
