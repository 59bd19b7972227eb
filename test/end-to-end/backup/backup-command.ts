import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('../../../', import.meta.url))
/** The embedded servers of the data folder, whatever the test run uses. */
export const noServers = { BASE_URL: '', ESDB_URL: '', DATABASE_URL: '', VAULT_DATABASE_URL: '', MASTER_KEYS: '' }

type Env = Readonly<Record<string, string>>

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs a command of an operator in its own process. */
export function platformCommand(
  args: readonly string[],
  env: Env,
): { readonly ended: Promise<Ended>; kill(): Promise<void> } {
  const child = spawn(process.execPath, ['app/main.ts', ...args], {
    cwd: repository,
    env: { ...process.env, ...noServers, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
  const ended = Promise.all([text(child.stdout), text(child.stderr), closed]).then(([out, err, code]) => ({
    code,
    out,
    err,
  }))
  return {
    ended,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

export async function runPlatform(args: readonly string[], env: Env): Promise<Ended> {
  return platformCommand(args, env).ended
}
