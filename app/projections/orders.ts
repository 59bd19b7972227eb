import type { CommandUnknownOpts } from '@commander-js/extra-typings'
import { parsePosition, type Position } from '../../platform/kit/positions.ts'
import { example, must, textUpTo, type Define } from '../command-options.ts'
import { knownNames } from './known-projectors.ts'

/** A command of an operator about projections. */
export type ProjectionsOrder =
  | { readonly action: 'list' | 'lag'; readonly isJson: boolean }
  | { readonly action: 'rebuild'; readonly names: readonly string[]; readonly acceptsDifference: boolean }
  | { readonly action: 'verify'; readonly names: readonly string[]; readonly isJson: boolean }
  | { readonly action: 'retry' | 'rollback' | 'drop'; readonly name: string }
  | { readonly action: 'skip'; readonly name: string; readonly position: Position; readonly reason: string }

/** Positions are 64 bits each. */
const largest = 2n ** 64n - 1n

const positionOf = must('a position: COMMIT/PREPARE, two numbers, as projections list shows it', (text) => {
  const position = parsePosition(text)
  return position === undefined || position.commit > largest || position.prepare > largest ? undefined : position
})
const projector = must(`the name of a projector: ${knownNames.join(', ')}`, (name) =>
  knownNames.includes(name) ? name : undefined,
)

export const defineProjections: Define<ProjectionsOrder> = (projections, choose) => {
  projections.addHelpText('after', '\nExit codes: 0 done, or equal; 1 different, or failed; 2 wrong usage.')
  const summaries = {
    list: 'Every projector: version, status, copies, and the event at which it failed.',
    lag: 'How far each projector is behind the log, and since when.',
  }
  for (const action of ['list', 'lag'] as const) {
    const command = projections
      .command(action)
      .description(summaries[action])
      .option('--json', 'as JSON')
      .action(({ json: isJson = false }) => choose({ action, isJson }))
    example(command, `projections ${action}`)
  }
  const rebuild = projections
    .command('rebuild')
    .description(
      'Fills a new copy next to the serving one, compares both at the same position, and switches only if they are equal. Keeps the old copy for a rollback.',
    )
    .argument('[name]', 'the projector', projector)
    .option('--all', 'all of them, one after another')
    .option('--accept-difference', 'switches also if the copies differ')
    .action((name, { all = false, acceptDifference = false }, command) =>
      choose({ action: 'rebuild', names: oneOrAll(name, all, command), acceptsDifference: acceptDifference }),
    )
  example(rebuild, 'projections rebuild patients')
  const verify = projections
    .command('verify')
    .description('The same comparison without the switch. Names the first row that differs.')
    .argument('[name]', 'the projector', projector)
    .option('--all', 'all of them, one after another')
    .option('--json', 'as JSON')
    .action((name, { all = false, json = false }, command) =>
      choose({ action: 'verify', names: oneOrAll(name, all, command), isJson: json }),
    )
  example(verify, 'projections verify --all')
  const skip = projections
    .command('skip')
    .description('Skips the event at which a projector failed, now and at every rebuild.')
    .argument('<name>', 'the projector', projector)
    .argument('<position>', 'where it failed, as projections list shows it', positionOf)
    .requiredOption(
      '--reason <text>',
      'several words in quotes, 500 characters at most. Recorded for ever, unencrypted: no name, no birth date, nothing about a patient',
      textUpTo(500),
    )
    .action((name, position, { reason }) => choose({ action: 'skip', name, position, reason }))
  example(skip, "projections skip patients 81240/81240 --reason 'imported twice'")
  const others = {
    retry: 'Continues a failed or stopped projector with its event.',
    rollback: 'Puts the copy before the last rebuild back in place.',
    drop: 'Removes the previous copy, and the copies of an interrupted rebuild.',
  }
  for (const action of ['retry', 'rollback', 'drop'] as const) {
    const command = projections
      .command(action)
      .description(others[action])
      .argument('<name>', 'the projector', projector)
      .action((name) => choose({ action, name }))
    example(command, `projections ${action} patients`)
  }
}

function oneOrAll(name: string | undefined, isAll: boolean, command: CommandUnknownOpts): readonly string[] {
  if ((name === undefined) === !isAll)
    command.error(`error: either a projector or --all is needed: projectors are ${knownNames.join(', ')}`)
  return name === undefined ? knownNames : [name]
}
