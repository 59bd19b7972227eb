import { USER_USAGE, printUser } from '../access/user-command.ts'
import { EXPORT_USAGE, IMPORT_USAGE, runExport, runImport } from '../transfer/transfer-commands.ts'
import { NODE_USAGE, runNode } from './run-node.ts'

type Command = { usage: string; run: (args: string[]) => Promise<void> }

/** The commands by their first word, except the one that runs a node. */
const COMMANDS: Record<string, Command> = {
  user: { usage: USER_USAGE, run: printUser },
  export: { usage: EXPORT_USAGE, run: runExport },
  import: { usage: IMPORT_USAGE, run: runImport },
}

/**
 * Runs the command of the arguments, and rejects when it fails. `onFailure` is called when a running node must stop.
 */
export async function runCommandLine(args: string[], onFailure: (error: unknown) => void): Promise<void> {
  const [first = '', ...rest] = args
  const command = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined
  if (args.includes('--help') || args.includes('-h')) process.stdout.write(help())
  else if (command !== undefined) await command.run(rest)
  else await runNode(args, onFailure)
}

function help(): string {
  const others = Object.values(COMMANDS).map(({ usage }) => `  npm run eventstore -- ${usage}\n`)
  return `Runs a node that speaks EventStoreDB's protocol, until SIGTERM or SIGINT:\n\n  npm run eventstore -- ${NODE_USAGE}\n\nOther commands:\n\n${others.join('')}`
}
