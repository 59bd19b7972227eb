import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../embedded/children/free-port.ts'
import { loadConfiguration, type Environment } from '../../platform/configuration/configuration.ts'
import type { PlatformProcess } from '../../app/demo/platform-process.ts'
import { createGracefulStop } from '../../platform/lifecycle/graceful-stop.ts'
import { createLogger } from '../../platform/observability/logging.ts'
import { startEmbedded } from '../../app/embedded.ts'
import { isRole, type Role } from '../../app/roles.ts'
import { masterKeys, prepareClients } from './first-clients.ts'
import { startFront, type Front } from './front.ts'

const main = fileURLToPath(new URL('../../app/main.ts', import.meta.url))
/** Six processes load the same sources: with a compile cache they start in half the time. */
const compiled = fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url))
const endWithParent = fileURLToPath(new URL('end-with-parent.ts', import.meta.url))
const startLimitMs = 150_000

/** One process of one role. */
export interface RoleProcess {
  readonly role: Role
  readonly pid: number
  readonly port: number
  readonly output: () => string
  readonly exited: Promise<number | null>
  stop(): Promise<number | null>
  /** SIGKILL. */
  kill(): Promise<void>
}

/** A platform with separate roles, two processes each, behind a front that distributes requests. */
export interface PlatformApart extends PlatformProcess {
  readonly instances: readonly RoleProcess[]
  readonly front: Front
  /** For commands beside the platform: its servers and master keys. */
  readonly environment: Readonly<Record<string, string>>
  /** Starts another process of a role. Resolves when it is ready. */
  another(role: Role): Promise<RoleProcess>
}

/**
 * Like `platform up` on a data folder, but with separate roles: embedded servers for everything that the environment
 * does not name, the credentials of the folder, the same address again. `pid` is the first API's.
 */
export async function startPlatformApart(
  dataDir: string,
  env: Readonly<Record<string, string>>,
): Promise<PlatformApart> {
  const logger = createLogger({ level: 'silent' })
  const servers = createGracefulStop({ logger })
  const instances: RoleProcess[] = []
  try {
    const port = Number(env['PORT'] ?? (await freePort()))
    const given = {
      ...withoutEmpty(env),
      PLATFORM_DATA_DIR: dataDir,
      PORT: String(port),
      BASE_URL: `http://127.0.0.1:${port}`,
    }
    const { environment, standIns } = await startEmbedded(loadConfiguration(given), {
      logger,
      stop: servers,
      onLost: () => undefined,
    })
    const shared = { ...environment, MASTER_KEYS: await masterKeys(dataDir), ...given }
    const { credentials, service } = await prepareClients(shared, standIns)
    const settings = { ...shared, ...service, PORT: '0' }
    const begin = (role: Role) => startRole(role, settings, (instance) => instances.push(instance))
    const others = Promise.all(['projector', 'projector', 'processor', 'processor'].filter(isRole).map(begin))
    // Processors are ready once our own services accept their credentials. They call the services through the front.
    const answering = Promise.all([begin('api'), begin('api')]).then(async (apis) => {
      const opened = await startFront(
        port,
        apis.map((api) => api.port),
      )
      servers.onStop('intake', 'front', () => opened.close())
      return opened
    })
    const [front] = await Promise.all([answering, others])
    const output = () => instances.map((instance) => instance.output()).join('')
    // A failpoint ends the one process that reaches it.
    const exited = Promise.race(instances.map((instance) => instance.exited))
    return {
      credentials,
      instances,
      front,
      environment: shared,
      output,
      exited,
      pid: instances.find(({ role }) => role === 'api')?.pid ?? 0,
      async another(role) {
        const added = await begin(role)
        if (role === 'api') front.add(added.port)
        return added
      },
      async stop() {
        const code = worst(await Promise.all(instances.map((instance) => instance.stop())))
        await servers.stop()
        return code
      },
      async kill() {
        await Promise.all(instances.map((instance) => instance.kill()))
        await servers.stop()
      },
    }
  } catch (error) {
    await Promise.all(instances.map((instance) => instance.stop()))
    await servers.stop()
    throw error
  }
}

/**
 * For tests in which one process must answer. It bypasses the front, because the front reads each body to its end
 * before it passes it on.
 */
export function apiPort(platform: PlatformProcess, baseUrl: string): number {
  const api = isApart(platform) ? platform.instances.find(({ role }) => role === 'api') : undefined
  return api?.port ?? Number(new URL(baseUrl).port)
}

function isApart(platform: PlatformProcess): platform is PlatformApart {
  return 'instances' in platform
}

/** How a process of a role is run: the command line after Node.js, and environment variables beyond its settings. */
export function roleCommand(role: Role) {
  return { args: [`--import=${endWithParent}`, main, 'serve', '--role', role], env: { NODE_COMPILE_CACHE: compiled } }
}

async function startRole(role: Role, env: Environment, started: (instance: RoleProcess) => void): Promise<RoleProcess> {
  const command = roleCommand(role)
  const child = spawn(process.execPath, command.args, {
    env: { ...process.env, ...command.env, ...env },
    stdio: 'pipe',
  })
  let output = ''
  let isOver = false
  const ready = Promise.withResolvers<number>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
      const [, port] = /is ready[\s\S]*http:\/\/127\.0\.0\.1:(\d+)\/health/.exec(output) ?? []
      if (port !== undefined) ready.resolve(Number(port))
    })
  }
  const exited = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      isOver = true
      resolve(code)
      ready.reject(new Error(`the ${role} did not start:\n${output}`))
    })
  })
  const end = async (signal: NodeJS.Signals) => {
    if (!isOver) child.kill(signal)
    return exited
  }
  const limit = setTimeout(() => ready.reject(new Error(`the ${role} was not ready in time:\n${output}`)), startLimitMs)
  let port = 0
  const instance: RoleProcess = {
    role,
    exited,
    get port() {
      return port
    },
    pid: child.pid ?? 0,
    output: () => output,
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
  }
  started(instance)
  try {
    port = await ready.promise
    return instance
  } finally {
    clearTimeout(limit)
  }
}

/** The exit code of a killed process is null. It does not count. */
function worst(codes: readonly (number | null)[]): number | null {
  return codes.find((code) => code !== null && code !== 0) ?? codes.find((code) => code === 0) ?? null
}

function withoutEmpty(env: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
}
