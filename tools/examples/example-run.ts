import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const root = join(import.meta.dirname, '../..')

/** A running example. */
export interface ExampleRun {
  /** What it printed on both outputs. */
  readonly output: () => string
  /** Waits until the outputs match. Rejects if the program ends before. */
  printed(pattern: RegExp): Promise<void>
  /** The exit code; null after a kill. */
  readonly ended: Promise<number | null>
  kill(): Promise<void>
}

/** Starts `run.sh` of an example. It replaces itself by the program, so a kill reaches the program. */
export function startExample(
  example: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): ExampleRun {
  const script = join(root, 'examples', example, 'run.sh')
  const child = spawn(script, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')))
  const ended = once(child, 'close').then(([code]: (number | null)[]) => code ?? null)
  let isOver = false
  child.on('exit', () => (isOver = true))
  return {
    output: () => output,
    async printed(pattern) {
      const deadline = Date.now() + 60_000
      while (!pattern.test(output)) {
        if (isOver || Date.now() > deadline) throw new Error(`${example} did not print ${pattern}:\n${output}`)
        await sleep(20)
      }
    },
    ended,
    async kill() {
      // Its own processes may go on for a while, and hold the outputs.
      const exit = isOver ? undefined : once(child, 'exit')
      child.kill('SIGKILL')
      await exit
    },
  }
}
