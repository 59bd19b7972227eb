import { expect, test } from 'vitest'
import { readCommand, usage } from '../../../app/command-line.ts'
import { knownNames } from '../../../app/projections/known-projectors.ts'

const position = { commit: 18_446_744_073_709_551_615n, prepare: 12n }

test.each([
  [['list'], { action: 'list', isJson: false }],
  [['lag', '--json'], { action: 'lag', isJson: true }],
  [['rebuild', 'patients'], { action: 'rebuild', names: ['patients'], acceptsDifference: false }],
  [['rebuild', '--accept-difference', 'patients'], { action: 'rebuild', names: ['patients'], acceptsDifference: true }],
  [['rebuild', '--all'], { action: 'rebuild', names: knownNames, acceptsDifference: false }],
  [['verify', '--all', '--json'], { action: 'verify', names: knownNames, isJson: true }],
  [['retry', 'ai_review_todo'], { action: 'retry', name: 'ai_review_todo' }],
  [['rollback', 'cases'], { action: 'rollback', name: 'cases' }],
  [['drop', 'cases'], { action: 'drop', name: 'cases' }],
  [
    ['skip', 'cases', '18446744073709551615/12', '--reason', ' twice  imported '],
    { action: 'skip', name: 'cases', position, reason: 'twice  imported' },
  ],
])('projections %j is a valid command', (args, order) => {
  expect(readCommand(['projections', ...args])).toEqual({ name: 'projections', order })
})

const skip = ['skip', 'cases', '5/5', '--reason']
test.each([
  [[], 'takes one of list, lag, rebuild, verify, retry, skip, rollback, drop'],
  [['stop', 'cases'], 'no command projections stop'],
  [['list', 'cases'], 'cases'],
  [['list', '--all'], '--all'],
  [['rebuild'], `takes the name of a projector, or --all: projectors are ${knownNames.join(', ')}`],
  [['rebuild', 'case'], `there is no projector case: projectors are ${knownNames.join(', ')}`],
  [['rebuild', 'cases__next'], 'there is no projector cases__next'],
  [['rebuild', 'cases', 'patients'], 'one projector at a time'],
  [['rebuild', 'cases', '--all'], 'the name of a projector or --all, not both'],
  [['rebuild', 'cases', '--accept-diff'], '--accept-diff'],
  [['verify', 'cases', '--accept-difference'], '--accept-difference'],
  [['retry'], 'takes the name of a projector: projectors are'],
  [['rollback', '--all'], '--all'],
  [['drop', 'nobody'], 'there is no projector nobody'],
  [['skip'], 'takes the name of a projector'],
  [['skip', 'cases', '--reason', 'x'], 'takes the position at which the projector failed'],
  [['skip', 'cases', '5', '--reason', 'x'], '5 is not a position: COMMIT/PREPARE'],
  [['skip', 'cases', '5/-5', '--reason', 'x'], '5/-5 is not a position'],
  [['skip', 'cases', '18446744073709551616/5', '--reason', 'x'], 'is not a position'],
  [['skip', 'cases', '5/5'], 'needs --reason TEXT'],
  [[...skip, '   '], 'needs --reason TEXT'],
  [[...skip, 'x'.repeat(501)], 'at most 500 characters, not 501'],
  [[...skip, 'two', 'words'], 'in quotes'],
])('projections %j is refused with its reason', (args, reason) => {
  expect(readCommand(['projections', ...args])).toEqual({ name: 'wrong', reason: expect.stringContaining(reason) })
})

test('a reason of 500 characters is accepted, and the usage warns about personal data in it', () => {
  expect(readCommand(['projections', ...skip, 'x'.repeat(500)])).toMatchObject({ order: { reason: 'x'.repeat(500) } })
  expect(usage).toMatch(/TEXT[^]*nothing about a patient/)
})
