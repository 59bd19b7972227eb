import { randomBytes } from 'node:crypto'
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEventStore } from 'embedded-eventstore'
import { v4 } from 'uuid'
import { freePort } from '../../embedded/children/free-port.ts'
import { startObjectStore } from '../../embedded/object-store/start-object-store.ts'
import { freshDatabases } from '../support/postgres.ts'

const main = fileURLToPath(new URL('../../app/main.ts', import.meta.url))
export const secret = 'a-secret-of-at-least-thirty-two-characters'

/** Servers for roles that start without a data folder, and their settings. */
export interface ServeWorld {
  readonly folder: string
  readonly port: number
  readonly settings: Readonly<Record<string, string>>
  /** Starts the program. The environment contains only the compile cache of the test run, and no data folder. */
  begin(args: readonly string[], env: Readonly<Record<string, string>>): Started
  /** The same to its end. */
  outcome(
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>
  close(): Promise<void>
}

interface Started {
  readonly output: { readonly stdout: string; readonly stderr: string }
  readonly exited: Promise<number | null>
  kill(): void
}

export async function openServeWorld(): Promise<ServeWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'serve-'))
  const [database, node, objects, port] = await Promise.all([
    freshDatabases(),
    startEventStore({
      dataDir: join(folder, 'eventstore'),
      users: [{ login: 'platform', password: secret, groups: ['$admins'] }],
    }),
    startObjectStore({
      dataDir: join(folder, 'objects'),
      port: 0,
      accessKeyId: 'key',
      secretAccessKey: secret,
      bucket: 'photographs',
    }),
    freePort(),
  ])
  function begin(args: readonly string[], env: Readonly<Record<string, string>>): Started {
    const compiled = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '' }
    const child = spawn(process.execPath, [main, ...args], {
      env: { ...compiled, ...env },
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const output = { stdout: '', stderr: '' }
    child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString('utf8')))
    child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString('utf8')))
    const exited = new Promise<number | null>((resolve) => {
      child.on('close', resolve)
    })
    return { output, exited, kill: () => child.kill('SIGTERM') }
  }
  return {
    folder,
    port,
    settings: {
      LOG_LEVEL: 'warn',
      PORT: String(port),
      BASE_URL: `http://127.0.0.1:${port}`,
      ESDB_URL: node.url,
      DATABASE_URL: database.url,
      VAULT_DATABASE_URL: database.vaultUrl,
      MASTER_KEYS: `first:${randomBytes(32).toString('base64')}`,
      S3_ENDPOINT: objects.endpoint,
      S3_ACCESS_KEY_ID: 'key',
      S3_SECRET_ACCESS_KEY: secret,
      S3_BUCKET: 'photographs',
      SERVICE_CLIENT_ID: v4(),
      SERVICE_CLIENT_SECRET: secret,
      PROVIDER_BASE_URL: 'http://127.0.0.1:1',
      PROVIDER_LOGIN: 'platform',
      PROVIDER_PASSWORD: secret,
    },
    begin,
    async outcome(args, env) {
      const { output, exited } = begin(args, env)
      return { code: await exited, ...output }
    },
    async close() {
      await Promise.all([node.stop(), objects.stop()])
      await database.drop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
