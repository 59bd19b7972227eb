import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { at } from '../../../app/demo/members.ts'
import { commandHere, type Ended } from '../../support/command-here.ts'

const repository = fileURLToPath(new URL('../../../', import.meta.url))
/** All commands load the same sources. With a compile cache they start in half the time. */
const compiled = fileURLToPath(new URL('../../../node_modules/.cache/compiled', import.meta.url))
/** The operator does not use the servers of the test run. */
const nothing = { BASE_URL: '', ESDB_URL: '', DATABASE_URL: '', VAULT_DATABASE_URL: '', MASTER_KEYS: '' }

type Env = Readonly<Record<string, string>>

/** Progress lines, which depend on the speed of the machine. */
const howFar = /^(?:filling \[|comparing|switching).*\n/gm

/** Runs `platform projections …` in the test's process, beside the platform over a data folder. Errors are without progress. */
export async function projections(dataDir: string, args: readonly string[], env: Env = {}): Promise<Ended> {
  const { err, ...ended } = await commandHere(['projections', ...args], { PLATFORM_DATA_DIR: dataDir, ...env })
  return { ...ended, err: err.replaceAll(howFar, '') }
}

/** The same in its own process, while it runs. */
export function beginProjections(
  dataDir: string,
  args: readonly string[],
): { readonly ended: Promise<{ code: number | null; out: string; err: string }>; interrupt(): void } {
  const child = spawn(process.execPath, ['app/main.ts', 'projections', ...args], {
    cwd: repository,
    env: { ...process.env, ...nothing, NODE_COMPILE_CACHE: compiled, PLATFORM_DATA_DIR: dataDir },
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

/** The entry of one projector in `list --json`, `lag --json` or `verify --json`. */
export function entryOf({ out }: Ended, name: string): unknown {
  const entries = at(JSON.parse(out), 'projectors')
  return Array.isArray(entries) ? entries.find((entry) => at(entry, 'name') === name) : undefined
}
