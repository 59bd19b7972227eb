import { expect, test } from 'vitest'
import { readCommand } from '../../../app/command-line.ts'
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
])('projections %j is a valid command', async (args, order) => {
  expect(await readCommand(['projections', ...args])).toEqual({ name: 'projections', order })
})

const skip = ['skip', 'cases', '5/5', '--reason']
test.each([
  [[], 'projections takes a command'],
  [['stop', 'cases'], "unknown command 'stop'"],
  [['list', 'cases'], 'cases'],
  [['list', '--all'], "unknown option '--all'"],
  [['rebuild'], `either a projector or --all is needed: projectors are ${knownNames.join(', ')}`],
  [
    ['rebuild', 'case'],
    `'case' is invalid for argument 'name'. It must be the name of a projector: ${knownNames.join(', ')}`,
  ],
  [['rebuild', 'cases__next'], "'cases__next' is invalid"],
  [['rebuild', 'cases', 'patients'], "too many arguments for 'rebuild'. Expected 1 argument but got 2"],
  [['rebuild', 'cases', '--all'], 'either a projector or --all is needed'],
  [
    ['rebuild', 'cases', '--accept-diference'],
    "unknown option '--accept-diference'\n(Did you mean --accept-difference?)",
  ],
  [['verify', 'cases', '--accept-difference'], "unknown option '--accept-difference'"],
  [['retry'], "missing required argument 'name'"],
  [['rollback', '--all'], "unknown option '--all'"],
  [['drop', 'nobody'], "'nobody' is invalid"],
  [['skip', 'cases', '--reason', 'x'], "missing required argument 'position'"],
  [['skip', 'cases', '5', '--reason', 'x'], 'It must be a position: COMMIT/PREPARE'],
  [['skip', 'cases', '5/-5', '--reason', 'x'], "'5/-5' is invalid"],
  [['skip', 'cases', '18446744073709551616/5', '--reason', 'x'], 'It must be a position'],
  [['skip', 'cases', '5/5'], "required option '--reason <text>' not specified"],
  [[...skip, '   '], 'It must be 1 to 500 characters.'],
  [[...skip, 'x'.repeat(501)], 'It must be 1 to 500 characters.'],
  [[...skip, 'two', 'words'], "too many arguments for 'skip'. Expected 2 arguments but got 3: cases, 5/5, words."],
])('projections %j is refused with its reason', async (args, reason) => {
  expect(await readCommand(['projections', ...args])).toEqual({
    name: 'wrong',
    reason: expect.stringContaining(reason),
  })
})

test('a reason of 500 characters is accepted, and the help warns about personal data in it', async () => {
  const args = ['projections', ...skip, 'x'.repeat(500)]
  expect(await readCommand(args)).toMatchObject({ order: { reason: 'x'.repeat(500) } })
  const { text = '' } = (await readCommand(['projections', 'skip', '--help'])) as { text?: string }
  expect(text.replaceAll(/\s+/g, ' ')).toContain('nothing about a patient')
})
