import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { RunningServer, ServerEnvironment } from '../children/live-as-child.ts'
import { listenOnLoopback, stopListening } from '../children/loopback-server.ts'
import { Memory } from './memory.ts'
import { providerServer } from './server.ts'

export async function serveProvider(args: string[], env: ServerEnvironment): Promise<RunningServer> {
  const { values } = parseArgs({
    args,
    options: {
      data: { type: 'string' },
      port: { type: 'string' },
      /** In a container of its own the simulator needs an outside address. Elsewhere only this machine calls it. */
      host: { type: 'string' },
      'session-ttl-seconds': { type: 'string', default: '3600' },
    },
  })
  const login = env['PROVIDER_LOGIN']
  const password = env['PROVIDER_PASSWORD']
  const controlSecret = env['PROVIDER_CONTROL_SECRET']
  if (values.data === undefined || isBlank(login) || isBlank(password) || isBlank(controlSecret)) {
    throw new Error('provider simulator needs --data, PROVIDER_LOGIN, PROVIDER_PASSWORD and PROVIDER_CONTROL_SECRET')
  }
  const dataDir = resolve(values.data)
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const memory = new Memory(join(dataDir, 'provider.sqlite'))
  const settings = { login, password, controlSecret, sessionTtlSeconds: Number(values['session-ttl-seconds']) }
  const server = providerServer(memory, settings, (error) => {
    process.stderr.write(`request failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  })
  const wanted = Number(values.port ?? 0)
  if (values.host !== undefined) {
    await new Promise<void>((done, fail) => {
      server.once('error', fail)
      server.listen({ port: wanted, host: values.host }, done)
    })
  }
  const port = values.host === undefined ? await listenOnLoopback(server, 'provider simulator', wanted) : wanted
  const stop = async (): Promise<void> => {
    await stopListening(server)
    memory.close()
  }
  return { port, stop }
}

function isBlank(value: string | undefined): value is undefined | '' {
  return value === undefined || value === ''
}
