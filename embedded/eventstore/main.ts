import { USER_USAGE, printUser } from './access/user-command.ts'
import { NODE_USAGE, runNode } from './operations/run-node.ts'
import { EXPORT_USAGE, IMPORT_USAGE, runExport, runImport } from './transfer/transfer-commands.ts'

type Command = { usage: string; run: (args: string[]) => Promise<void> }

/** Commands beside the one that runs a node, by their first word. */
const COMMANDS: Record<string, Command> = {
  user: { usage: USER_USAGE, run: printUser },
  export: { usage: EXPORT_USAGE, run: runExport },
  import: { usage: IMPORT_USAGE, run: runImport },
}

process.on('uncaughtException', exitWith)

try {
  await run(process.argv.slice(2))
} catch (error) {
  exitWith(error)
}

async function run(args: string[]): Promise<void> {
  const [first = '', ...rest] = args
  const command = Object.hasOwn(COMMANDS, first) ? COMMANDS[first] : undefined
  if (args.includes('--help') || args.includes('-h')) process.stdout.write(help())
  else if (command !== undefined) await command.run(rest)
  else await runNode(args, exitWith)
}

function help(): string {
  const others = Object.values(COMMANDS).map(({ usage }) => `  npm run eventstore -- ${usage}\n`)
  return `Runs a node that speaks EventStoreDB's protocol, until SIGTERM or SIGINT:\n\n  npm run eventstore -- ${NODE_USAGE}\n\nOther commands:\n\n${others.join('')}`
}

/** Nothing is flushed here: what was acknowledged is on disk, and nothing else may be. */
function exitWith(error: unknown): never {
  const message = error instanceof Error ? error.message : String(error)
  process.stderr.write(`${JSON.stringify({ level: 'fatal', event: 'event-store-stopped', message })}\n`)
  process.exit(1)
}
