import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readCredentials, type Credentials } from '../credentials-file.ts'

const ownMain = fileURLToPath(new URL('../main.ts', import.meta.url))
/** A busy machine with two cores takes more than a minute. */
const startLimitMs = 180_000

/** A platform in its own process, started as an operator starts it. */
export interface PlatformProcess {
  readonly credentials: Credentials
  readonly pid: number
  /** All output so far, including logs. */
  readonly output: () => string
  readonly exited: Promise<number | null>
  /** Sends SIGTERM and returns the exit code. */
  stop(): Promise<number | null>
  kill(): Promise<void>
}

/**
 * Runs `platform up` on a data folder and waits until it is ready. Rejects with its output if it fails. The signal
 * stops it at any time, also during the start. `main` may be the program of another version.
 */
export async function startPlatformProcess(
  dataDir: string,
  env: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
  main = ownMain,
): Promise<PlatformProcess> {
  const child = spawn(process.execPath, [main, 'up'], {
    env: { ...process.env, PORT: '0', ...env, PLATFORM_DATA_DIR: dataDir },
    stdio: 'pipe',
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')))
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')))
  let isOver = false
  const exited = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      isOver = true
      resolve(code)
    })
  })
  const stop = async () => {
    if (!isOver) child.kill('SIGTERM')
    return exited
  }
  signal?.addEventListener('abort', () => void stop(), { once: true })
  if (signal?.aborted === true) void stop()

  const deadline = Date.now() + startLimitMs
  while (!output.includes('The platform is ready')) {
    if (isOver || Date.now() > deadline) {
      await stop()
      throw new Error(`the platform did not start:\n${output}`)
    }
    await sleep(50)
  }
  const credentials = await readCredentials(dataDir)
  if (credentials === undefined) throw new Error('the platform is ready without credentials.json')
  return {
    credentials,
    pid: child.pid ?? 0,
    output: () => output,
    exited,
    stop,
    kill: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}
