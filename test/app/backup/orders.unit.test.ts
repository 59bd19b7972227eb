import { expect, test } from 'vitest'
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
])('%j is understood', async (args, order) => {
  expect(await readCommand(['backup', ...args])).toEqual({ name: 'backup', order })
})

test.each([
  [[], 'backup takes a command'],
  [['toString'], "unknown command 'toString'"],
  [['create'], "required option '--to <place>' not specified"],
  [['create', '--to', ''], 'It must be at least one character.'],
  [['create', '--to', 'p', '--from', 'p'], "unknown option '--from'"],
  [['list'], "required option '--from <place>' not specified"],
  [['restore', '--from', 'p'], "required option '--to <dir>' not specified"],
  [['verify', '--from', 'p', '--backup', '../x'], 'It must be an id that backup list shows.'],
  [['prune', '--from', 'p'], "required option '--keep <n>' not specified"],
  [['prune', '--from', 'p', '--keep', '0'], 'It must be a number from 1 to 999999.'],
  [['restore', '--from', 'p', '--to', 'd', '--erasures', 'e', '--accept-lost-erasures'], 'cannot be used with option'],
  [['release', '--to', 'p'], "unknown option '--to'"],
])('%j is refused', async (args, reason) => {
  expect(await readCommand(['backup', ...args])).toEqual({ name: 'wrong', reason: expect.stringContaining(reason) })
})
