import { readCommand } from '../../app/command-line.ts'
import { carryOut } from '../../app/program.ts'
import type { Environment } from '../../platform/configuration/configuration.ts'

/** What a command of an operator left. */
export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/**
 * Runs a command of an operator in the test's process, with these variables only. A process of its own takes one or two
 * seconds of processor time, most of it for loading modules.
 */
export async function commandHere(args: readonly string[], env: Environment): Promise<Ended> {
  const command = await readCommand(args)
  if (command.name === 'up' || command.name === 'serve' || command.name === 'witness')
    throw new Error(`${command.name} does not end by itself`)
  let out = ''
  let err = ''
  const code = await carryOut(command, {
    env,
    out: (text) => void (out += `${text}\n`),
    err: (text) => void (err += text),
    isInteractive: false,
    signal: new AbortController().signal,
    exit: () => undefined,
  })
  return { code, out, err }
}
