import { expect, test } from 'vitest'
import { readAudit } from '../../../app/audit/orders.ts'

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
  [['provenance', '--review', id.toUpperCase()], { action: 'provenance', reviewId: id, isJson: false }],
  [['provenance', '--json', '--review', id], { action: 'provenance', reviewId: id, isJson: true }],
  [['accept-older-log', '--reason', ' a disk broke '], { action: 'accept-older-log', reason: 'a disk broke' }],
])('audit %j is understood', (args, order) => expect(readAudit(args)).toEqual(order))

test.each([
  [[], 'audit takes'],
  [['other'], 'audit takes'],
  [['timeline'], 'exactly one subject'],
  [['timeline', '--patient', id, '--case', id], 'exactly one subject'],
  [['timeline', '--patient', '7'], 'ids are UUIDs'],
  [['timeline', '--doctor', id], '--doctor'],
  [['as-of', '--at', 'yesterday', '--path', '/v1/x', '--org', id], 'needs --at, an instant such as'],
  [['as-of', '--at', '1/1', '--path', 'v1/x', '--org', id], 'needs --path'],
  [['as-of', '--at', '1/1', '--path', `/${'x'.repeat(2_048)}`, '--org', id], 'needs --path'],
  [['as-of', '--at', '1/1', '--path', '/v1/x'], 'needs --org'],
  [['verify', '--from', '0'], '--from must be'],
  [['verify', '--from', 'x'], '--from must be'],
  [['check'], 'takes one file'],
  [['check', 'a', 'b', '--key', 'k'], 'takes one file'],
  [['check', 'a'], 'needs --key'],
  [['provenance'], 'needs --review'],
  [['provenance', '--review', '7'], 'needs --review'],
  [['accept-older-log'], 'needs --reason'],
  [['accept-older-log', '--reason', 'x'.repeat(501)], 'needs --reason'],
])('audit %j is refused', (args, reason) => expect(() => readAudit(args)).toThrow(reason))
