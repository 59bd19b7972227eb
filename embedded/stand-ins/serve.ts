import type { RunningServer, ServerEnvironment } from '../children/live-as-child.ts'

const servers: Readonly<Record<string, (args: string[], env: ServerEnvironment) => Promise<RunningServer>>> = {
  'object-store': async (args, env) => (await import('../object-store/serve.ts')).serveObjectStore(args, env),
  provider: async (args, env) => (await import('../provider/serve.ts')).serveProvider(args, env),
  receivers: async (args, env) => (await import('../receivers/serve.ts')).serveReceivers(args, env),
}

/** Starts in this process the stand-in that the command names first. */
export async function serveStandIn(
  [name = '', ...args]: readonly string[],
  env: ServerEnvironment,
): Promise<RunningServer> {
  const server = servers[name]
  if (server === undefined) throw new Error(`no stand-in "${name}": one of ${Object.keys(servers).join(', ')}`)
  return server(args, env)
}
