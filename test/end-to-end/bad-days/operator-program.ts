import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { waitFor } from '../../support/platform.ts'

/**
 * The test runner sets variables, and the platform reads one of them. The servers of the test run are not those of the
 * operator. These programs start their own.
 */
const environment = { ...process.env, BASE_URL: '', ESDB_URL: '', DATABASE_URL: '', VAULT_DATABASE_URL: '' }
const repository = fileURLToPath(new URL('../../../', import.meta.url))

/** A command of an operator, in its own process group, as in a terminal. */
export interface OperatorProgram {
  readonly pid: number
  readonly output: () => string
  readonly exited: Promise<number | null>
  /** Resolves when the output contains the text. Rejects if the program ends before. */
  says(text: string): Promise<void>
  kill(signal: NodeJS.Signals): void
  /** Signals every process of the group, like Ctrl-C. */
  killGroup(signal: NodeJS.Signals): void
}

export function runProgram(
  command: readonly [string, ...string[]],
  env: Readonly<Record<string, string>>,
): OperatorProgram {
  const [program, ...args] = command
  const child = spawn(program, args, {
    cwd: repository,
    env: { ...environment, ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const pid = child.pid ?? Number.NaN
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')))
  let isOver = false
  const exited = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      isOver = true
      resolve(code)
    })
  })
  return {
    pid,
    output: () => output,
    exited,
    says: async (text) => {
      await waitFor(`"${text}"`, () => {
        if (!output.includes(text) && isOver) throw new Error(`the program ended:\n${output}`)
        return output.includes(text) ? true : undefined
      })
    },
    kill: (signal) => void process.kill(pid, signal),
    killGroup: (signal) => void process.kill(-pid, signal),
  }
}
