import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { at } from '../../../app/demo/api-client.ts'

const repository = fileURLToPath(new URL('../../../', import.meta.url))
/** One command after another loads the same sources: compiled once, they begin in half the time. */
const compiled = fileURLToPath(new URL('../../../node_modules/.cache/compiled', import.meta.url))
/** The servers of the test run are not the operator's. */
const nothing = { BASE_URL: '', ESDB_URL: '', DATABASE_URL: '', VAULT_DATABASE_URL: '', MASTER_KEYS: '' }

type Env = Readonly<Record<string, string>>

/** How a command ended, and what it wrote. */
export interface Ended {
  readonly code: number | null
  readonly out: string
  /** Complaints; not how far it was every five seconds, which depends on the machine. */
  readonly err: string
}

const howFar = /^(?:filling \[|comparing|switching).*\n/gm

/** `platform projections …` as an operator types it, in a process of its own, beside the platform over a data folder. */
export function projections(dataDir: string, args: readonly string[], env: Env = {}): Promise<Ended> {
  return beginProjections(dataDir, args, env).ended
}

/** The same, while it runs. */
export function beginProjections(
  dataDir: string,
  args: readonly string[],
  env: Env = {},
): { readonly ended: Promise<Ended>; interrupt(): void } {
  const child = spawn(process.execPath, ['app/main.ts', 'projections', ...args], {
    cwd: repository,
    env: { ...process.env, ...nothing, NODE_COMPILE_CACHE: compiled, PLATFORM_DATA_DIR: dataDir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
  const ended = Promise.all([text(child.stdout), text(child.stderr), closed]).then(([out, err, code]) => ({
    code,
    out,
    err: err.replaceAll(howFar, ''),
  }))
  return { ended, interrupt: () => void child.kill('SIGINT') }
}

/** What one projector's entry says in `list --json`, `lag --json` or `verify --json`. */
export function entryOf({ out }: Ended, name: string): unknown {
  const entries = at(JSON.parse(out), 'projectors')
  return Array.isArray(entries) ? entries.find((entry) => at(entry, 'name') === name) : undefined
}
