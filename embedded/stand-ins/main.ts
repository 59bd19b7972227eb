import { liveAsChild, type RunningServer } from '../children/live-as-child.ts'
import { serveStandIn } from './serve.ts'

/** Runs the servers that its arguments name in one process: `object-store --data … -- provider --data …`. */

const exitWithParent = '--exit-with-parent'
const between = '--'

function commandsIn(args: readonly string[]): string[][] {
  const commands: string[][] = [[]]
  for (const arg of args) {
    if (arg === between) commands.push([])
    else commands.at(-1)?.push(arg)
  }
  return commands
}

async function start(): Promise<RunningServer> {
  const commands = commandsIn(process.argv.slice(2).filter((arg) => arg !== exitWithParent))
  const running = await Promise.all(commands.map((command) => serveStandIn(command, process.env)))
  return { port: running[0]?.port ?? 0, stop: async () => void (await Promise.all(running.map(({ stop }) => stop()))) }
}

await liveAsChild({ exitWithParent: process.argv.includes(exitWithParent), start })
