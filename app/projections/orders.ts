import { parseArgs } from 'node:util'
import { parsePosition, type Position } from '../../platform/kit/positions.ts'
import { knownNames } from './known-projectors.ts'

/** A command of an operator about projections. */
export type ProjectionsOrder =
  | { readonly action: 'list' | 'lag'; readonly isJson: boolean }
  | { readonly action: 'rebuild'; readonly names: readonly string[]; readonly acceptsDifference: boolean }
  | { readonly action: 'verify'; readonly names: readonly string[]; readonly isJson: boolean }
  | { readonly action: 'retry' | 'rollback' | 'drop'; readonly name: string }
  | { readonly action: 'skip'; readonly name: string; readonly position: Position; readonly reason: string }

/** The arguments are not a valid command. The message is for the operator. */
class UsageError extends Error {
  override readonly name = 'UsageError'
}

export const projectionsUsage = `  projections list [--json]        every projector: version, status, copies, and the event at which it failed
  projections lag [--json]         how far each is behind the log, and since when
  projections rebuild NAME|--all [--accept-difference]
          fills a new copy next to the serving one, compares both at the same position, and
          switches only if they are equal; keeps the old copy for a rollback
  projections verify NAME|--all [--json]
          the same comparison without the switch; names the first row that differs
  projections retry NAME           continues a failed or stopped projector with its event
  projections skip NAME POSITION --reason TEXT
          skips the event at which it failed, now and at every rebuild. TEXT (1 to 500 characters)
          is recorded for ever, unencrypted: no name, no birth date, nothing about a patient
  projections rollback NAME        puts the copy before the last rebuild back in place
  projections drop NAME            removes the previous copy, and the copies of an interrupted rebuild
          Exit codes: 0 done, or equal; 1 different, or failed; 2 wrong usage`

const actions = ['list', 'lag', 'rebuild', 'verify', 'retry', 'skip', 'rollback', 'drop'] as const
/** Positions are 64 bits each. */
const largest = 2n ** 64n - 1n
const longestReason = 500

/**
 * The command in the arguments after `projections`.
 * @throws UsageError, and the errors of `parseArgs`
 */
export function readProjections(args: readonly string[]): ProjectionsOrder {
  const [action, ...rest] = args
  switch (action) {
    case 'list':
    case 'lag':
      return {
        action,
        isJson: parseArgs({ args: rest, options: { json: { type: 'boolean', default: false } } }).values.json,
      }
    case 'rebuild':
      return readRebuild(rest)
    case 'verify':
      return readVerify(rest)
    case 'retry':
    case 'rollback':
    case 'drop':
      return {
        action,
        name: oneName(action, parseArgs({ args: rest, options: {}, allowPositionals: true }).positionals),
      }
    case 'skip':
      return readSkip(rest)
    case undefined:
      throw new UsageError(`projections takes one of ${actions.join(', ')}`)
    default:
      throw new UsageError(`there is no command projections ${action}: there are ${actions.join(', ')}`)
  }
}

function readRebuild(args: string[]): ProjectionsOrder {
  const options = {
    all: { type: 'boolean', default: false },
    'accept-difference': { type: 'boolean', default: false },
  } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  return {
    action: 'rebuild',
    names: oneOrAll('rebuild', positionals, values.all),
    acceptsDifference: values['accept-difference'],
  }
}

function readVerify(args: string[]): ProjectionsOrder {
  const options = { all: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } } as const
  const { values, positionals } = parseArgs({ args, options, allowPositionals: true })
  return { action: 'verify', names: oneOrAll('verify', positionals, values.all), isJson: values.json }
}

function readSkip(args: string[]): ProjectionsOrder {
  const { values, positionals } = parseArgs({ args, options: { reason: { type: 'string' } }, allowPositionals: true })
  const [name, position, ...surplus] = positionals
  const known = oneName('skip', name === undefined ? [] : [name])
  if (position === undefined)
    throw new UsageError('projections skip takes the position at which the projector failed: projections list shows it')
  if (surplus.length > 0)
    throw new UsageError('projections skip takes one name and one position; put a reason of several words in quotes')
  const reason = (values.reason ?? '').trim()
  if (reason === '') throw new UsageError('projections skip needs --reason TEXT')
  if (reason.length > longestReason)
    throw new UsageError(`--reason takes at most ${longestReason} characters, not ${reason.length}`)
  return { action: 'skip', name: known, position: positionOf(position), reason }
}

function positionOf(text: string): Position {
  const position = parsePosition(text)
  if (position === undefined || position.commit > largest || position.prepare > largest) {
    throw new UsageError(`${text} is not a position: COMMIT/PREPARE, two numbers, as projections list shows it`)
  }
  return position
}

function oneOrAll(action: string, positionals: readonly string[], isAll: boolean): readonly string[] {
  if (!isAll) return [oneName(action, positionals, ', or --all')]
  if (positionals.length > 0)
    throw new UsageError(`projections ${action} takes the name of a projector or --all, not both`)
  return knownNames
}

function oneName(action: string, positionals: readonly string[], otherwise = ''): string {
  const [name, ...surplus] = positionals
  const known = `projectors are ${knownNames.join(', ')}`
  if (name === undefined)
    throw new UsageError(`projections ${action} takes the name of a projector${otherwise}: ${known}`)
  if (surplus.length > 0) throw new UsageError(`projections ${action} takes one projector at a time`)
  if (!knownNames.includes(name)) throw new UsageError(`there is no projector ${name}: ${known}`)
  return name
}
