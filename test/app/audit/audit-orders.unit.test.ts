import { expect, test } from 'vitest'
import { readCommand } from '../../../app/command-line.ts'

const id = '0190b0a0-0000-7000-8000-00000000000a'

test.each([
  [
    ['timeline', '--patient', id.toUpperCase()],
    { action: 'timeline', subject: { kind: 'patient', id }, isOpened: false, isJson: false },
  ],
  [
    ['timeline', '--ai-review', id, '--with-phi', '--json'],
    { action: 'timeline', subject: { kind: 'ai_review', id }, isOpened: true, isJson: true },
  ],
  [
    ['as-of', '--at', '81240/81240', '--path', '/v1/ai-reviews/x', '--org', id.toUpperCase(), '--json'],
    { action: 'as-of', at: { commit: 81_240n, prepare: 81_240n }, path: '/v1/ai-reviews/x', org: id, isJson: true },
  ],
  [
    ['as-of', '--at', '2026-03-01T10:00:00Z', '--path', '/v1/ai-reviews/x', '--org', id],
    { action: 'as-of', at: new Date('2026-03-01T10:00:00Z'), path: '/v1/ai-reviews/x', org: id, isJson: false },
  ],
  [['verify'], { action: 'verify', isJson: false, from: undefined, key: undefined, witnesses: [] }],
  [
    ['verify', '--json', '--from', '300', '--key', 'k', '--witness', 'a', '--witness', 'b'],
    { action: 'verify', isJson: true, from: 300, key: 'k', witnesses: ['a', 'b'] },
  ],
  [['check', 'proof', '--key', 'k'], { action: 'check', file: 'proof', key: 'k', witnesses: [], jwks: undefined }],
  [
    ['check', '--key', 'k', 'p', '--witness', 'w', '--jwks', 'j'],
    { action: 'check', file: 'p', key: 'k', witnesses: ['w'], jwks: 'j' },
  ],
  [
    ['export', '--patient', id, '--to', 'dir'],
    { action: 'export', patientId: id, org: undefined, folder: 'dir', isJson: false },
  ],
  [
    ['export', '--patient', id, '--org', id.toUpperCase(), '--to', 'dir', '--json'],
    { action: 'export', patientId: id, org: id, folder: 'dir', isJson: true },
  ],
  [['provenance', '--review', id.toUpperCase()], { action: 'provenance', reviewId: id, isJson: false }],
  [['provenance', '--json', '--review', id], { action: 'provenance', reviewId: id, isJson: true }],
  [['accept-older-log', '--reason', ' a disk broke '], { action: 'accept-older-log', reason: 'a disk broke' }],
])('audit %j is understood', async (args, order) => {
  expect(await readCommand(['audit', ...args])).toEqual({ name: 'audit', order })
})

test.each([
  [[], 'audit takes a command'],
  [['other'], "unknown command 'other'"],
  [['timeline'], 'one subject is needed'],
  [['timeline', '--patient', id, '--case', id], 'cannot be used with option'],
  [['timeline', '--patient', id, '--ai-review', id], 'cannot be used with option'],
  [['timeline', '--patient', '7'], 'It must be a UUID.'],
  [['timeline', '--doctor', id], "unknown option '--doctor'"],
  [['as-of', '--at', 'yesterday', '--path', '/v1/x', '--org', id], 'It must be an instant such as'],
  [['as-of', '--at', '1/1', '--path', 'v1/x', '--org', id], 'It must be a path such as'],
  [['as-of', '--at', '1/1', '--path', `/${'x'.repeat(2_048)}`, '--org', id], 'It must be a path such as'],
  [['as-of', '--at', '1/1', '--path', '/v1/x'], "required option '--org <id>' not specified"],
  [['verify', '--from', '0'], "option '--from <size>' argument '0' is invalid"],
  [['verify', '--from', 'x'], "option '--from <size>' argument 'x' is invalid"],
  [['check', '--key', 'k'], "missing required argument 'file'"],
  [['check', 'a', 'b', '--key', 'k'], "too many arguments for 'check'"],
  [['check', 'a'], "required option '--key <vkey>' not specified"],
  [['provenance'], "required option '--review <id>' not specified"],
  [['provenance', '--review', '7'], 'It must be a UUID.'],
  [['accept-older-log'], "required option '--reason <text>' not specified"],
  [['accept-older-log', '--reason', 'x'.repeat(501)], 'It must be 1 to 500 characters.'],
])('audit %j is refused', async (args, reason) => {
  expect(await readCommand(['audit', ...args])).toEqual({ name: 'wrong', reason: expect.stringContaining(reason) })
})
