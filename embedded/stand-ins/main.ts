import { liveAsChild, type RunningServer } from '../children/live-as-child.ts'

/** Runs the servers that its arguments name in one process: `object-store --data … -- provider --data …`. */

const exitWithParent = '--exit-with-parent'
const between = '--'

const servers: Readonly<Record<string, (args: string[]) => Promise<RunningServer>>> = {
  'object-store': async (args) => (await import('../object-store/serve.ts')).serveObjectStore(args),
  provider: async (args) => (await import('../provider/serve.ts')).serveProvider(args),
  receivers: async (args) => (await import('../receivers/serve.ts')).serveReceivers(args),
}

function commandsIn(args: readonly string[]): string[][] {
  const commands: string[][] = [[]]
  for (const arg of args) {
    if (arg === between) commands.push([])
    else commands.at(-1)?.push(arg)
  }
  return commands
}

async function serve([name = '', ...args]: readonly string[]): Promise<RunningServer> {
  const server = servers[name]
  if (server === undefined) throw new Error(`no stand-in "${name}": one of ${Object.keys(servers).join(', ')}`)
  return server(args)
}

async function start(): Promise<RunningServer> {
  const commands = commandsIn(process.argv.slice(2).filter((arg) => arg !== exitWithParent))
  const running = await Promise.all(commands.map(serve))
  return { port: running[0]?.port ?? 0, stop: async () => void (await Promise.all(running.map(({ stop }) => stop()))) }
}

await liveAsChild({ exitWithParent: process.argv.includes(exitWithParent), start })
