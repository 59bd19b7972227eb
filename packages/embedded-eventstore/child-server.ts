import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { createInterface } from 'node:readline'
import { jsonOf } from './json-text.ts'

export type ChildOptions = {
  /** Names the child in errors, for example `embedded postgres`. */
  name: string
  /** Absolute path of the TypeScript file to run. */
  script: string
  args?: readonly string[]
  /** Options of Node.js itself. */
  nodeArgs?: readonly string[]
  /** Variables of the child, besides the inherited ones. */
  env?: Readonly<Record<string, string>>
  /** Receives each line of standard error. */
  onLog?: (line: string) => void
  /** Receives each line of standard output, except the ready line. */
  onOutput?: (line: string) => void
  readyTimeoutMs?: number
  /** How long `stop` waits before it kills. */
  stopTimeoutMs?: number
}

type ReadyLine = { ready: true; port: number }

/** An embedded server in its own process. */
export type ChildServer = {
  port: number
  pid: number
  /** Resolves with the exit code, or with 128 + signal number as in a shell. Never rejects. */
  exited: Promise<number>
  /** Sends SIGTERM, then SIGKILL to the child's process group after `stopTimeoutMs` (8 s). */
  stop(): Promise<void>
  kill(): void
}

const STOP_TIMEOUT_MS = 8_000
const READY_TIMEOUT_MS = 30_000
const TAIL_LINES = 15
/**
 * The variables that a child inherits. All others stay here: some are secrets, and every local server would hold a
 * copy.
 */
const INHERITED = ['PATH', 'HOME', 'TMPDIR', 'TEMP', 'TMP', 'LANG', 'TZ', 'SystemRoot', 'NODE_COMPILE_CACHE'] as const

/**
 * Starts an embedded server in its own process and waits for its ready line.
 *
 * The child leads its own process group. Ctrl-C therefore reaches only this process, and the children stop in the order
 * that this process chooses. The child ends when its stdin closes (`--exit-with-parent`), so it never outlives this
 * process. Rejects with the child's last log lines when it exits, or when it prints no ready line within
 * `readyTimeoutMs`.
 */
export async function startChild(options: ChildOptions): Promise<ChildServer> {
  const child = spawn(
    process.execPath,
    [...(options.nodeArgs ?? []), options.script, ...withParentFlag(options.args ?? [])],
    { detached: true, stdio: ['pipe', 'pipe', 'pipe'], env: { ...inheritedEnvironment(), ...options.env } },
  )
  child.stdin.on('error', () => {})
  const tail: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    tail.push(line)
    if (tail.length > TAIL_LINES) tail.shift()
    options.onLog?.(line)
  })
  const exited = exitCode(child)
  const kill = (): void => killGroup(child)

  const { port } = await readyLine(child, options, exited).catch(async (error: unknown) => {
    kill()
    await exited
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error([`${options.name} did not start: ${reason}`, ...tail].join('\n  '))
  })
  if (child.pid === undefined) throw new Error(`${options.name} has no process id`)

  return {
    port,
    pid: child.pid,
    exited,
    kill,
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
      const timer = setTimeout(kill, options.stopTimeoutMs ?? STOP_TIMEOUT_MS)
      await exited
      clearTimeout(timer)
    },
  }
}

function withParentFlag(args: readonly string[]): string[] {
  return args.includes('--exit-with-parent') ? [...args] : [...args, '--exit-with-parent']
}

function inheritedEnvironment(): Record<string, string> {
  const entries = INHERITED.flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return Object.fromEntries(entries)
}

const SIGNAL_NUMBERS: Readonly<Record<string, number>> = { SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }

function exitCode(child: ChildProcessWithoutNullStreams): Promise<number> {
  return new Promise((resolve) => {
    child.on('error', () => resolve(127))
    child.on('close', (code, signal) => resolve(code ?? 128 + (SIGNAL_NUMBERS[signal ?? ''] ?? 0)))
  })
}

function killGroup(child: ChildProcessWithoutNullStreams): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    child.kill('SIGKILL')
  }
}

function readyLine(
  child: ChildProcessWithoutNullStreams,
  options: ChildOptions,
  exited: Promise<number>,
): Promise<ReadyLine> {
  const timeoutMs = options.readyTimeoutMs ?? READY_TIMEOUT_MS
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`not ready within ${timeoutMs} ms`)), timeoutMs)
    child.on('error', reject)
    createInterface({ input: child.stdout }).on('line', (line) => {
      const parsed = parseReadyLine(line)
      if (parsed === undefined) return options.onOutput?.(line)
      clearTimeout(timer)
      resolve(parsed)
    })
    void exited.then((code) => {
      clearTimeout(timer)
      reject(new Error(`it exited with code ${code}`))
    })
  })
}

function parseReadyLine(line: string): ReadyLine | undefined {
  const value = jsonOf(line)
  return isReadyLine(value) ? value : undefined
}

function isReadyLine(value: unknown): value is ReadyLine {
  if (typeof value !== 'object' || value === null || !('ready' in value) || !('port' in value)) return false
  return value.ready === true && typeof value.port === 'number'
}
