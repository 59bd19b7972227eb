import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { createWriteStream, type WriteStream } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { descendantsOf } from '../../../test/end-to-end/bad-days/child-processes.ts'

export interface Launch {
  readonly name: string
  /** The arguments after `node`. The process ends when its standard input closes. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** File for all output of the process. */
  readonly log: string
  /**
   * A restart waits until these are up, as in an installation with declared dependencies. Otherwise the start would
   * fail.
   */
  readonly needs: readonly Supervised[]
}

/**
 * The ready line of the platform's roles and servers on standard output. Standard error of other servers does not
 * count.
 */
const isReadyLine = /is ready|"ready":\s*true/
/** Pause before the next start after a failed one. */
const betweenStartsMs = 150
const stopLimitMs = 15_000

/** A process that is restarted whenever it ends, as by the supervisor of an installation. */
export class Supervised {
  readonly name: string
  readonly #launch: Launch
  readonly #log: WriteStream
  #child: ChildProcessWithoutNullStreams | undefined
  #exited: Promise<void> = Promise.resolve()
  #isUp = false
  #isStopping = false
  #isKilled = false
  #isSuspended = false
  #waiting: (() => void)[] = []
  /** How often it ended without a kill, while starting and while running. */
  readonly ownEnds = { whileStarting: 0, whileRunning: 0 }

  constructor(launch: Launch) {
    this.name = launch.name
    this.#launch = launch
    this.#log = createWriteStream(launch.log, { flags: 'a' })
  }

  get isUp(): boolean {
    return this.#isUp
  }

  start(): void {
    const child = spawn(process.execPath, this.#launch.args, { detached: true, env: this.#launch.env, stdio: 'pipe' })
    this.#child = child
    this.#isKilled = false
    child.stdin.on('error', () => undefined)
    let said = ''
    child.stderr.on('data', (chunk: Buffer) => this.#log.write(chunk))
    child.stdout.on('data', (chunk: Buffer) => {
      this.#log.write(chunk)
      if (this.#isUp || this.#child !== child) return
      said += chunk.toString('utf8')
      if (isReadyLine.test(said)) this.#up()
    })
    this.#exited = new Promise((resolve) => {
      const ended = () => {
        resolve()
        void this.#ended(child)
      }
      child.once('error', ended)
      child.once('exit', ended)
    })
  }

  /** Resolves once the process is ready, immediately when it is. */
  async up(): Promise<void> {
    if (!this.#isUp) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Sends SIGKILL to the process and all its children, and resolves when it is gone. False when nothing ran. */
  async kill(): Promise<boolean> {
    const child = this.#child
    if (child?.pid === undefined) return false
    const pids = await stoppedWithDescendants(child.pid)
    const isRunning = this.#child === child
    if (isRunning) {
      this.#isKilled = true
      this.#isUp = false
      this.#note('killed')
    }
    for (const pid of pids) send('SIGKILL', pid)
    if (isRunning) await this.#exited
    return isRunning
  }

  /** The process stands still for so long, or until it is killed. Nothing happens when none runs, or it stands already. */
  async suspend(lastsMs: number): Promise<void> {
    const child = this.#child
    if (child === undefined || this.#isSuspended) return
    this.#isSuspended = true
    this.#note(`stands still for ${lastsMs} ms`)
    child.kill('SIGSTOP')
    const over = new AbortController()
    child.once('exit', () => over.abort())
    await sleep(lastsMs, undefined, { signal: over.signal }).catch(() => undefined)
    child.kill('SIGCONT')
    this.#isSuspended = false
  }

  /** Sends SIGTERM, and after a time limit SIGKILL to all that is left. The process is not restarted. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const child = this.#child
    if (child !== undefined) {
      child.kill('SIGTERM')
      const over = new AbortController()
      const late = sleep(stopLimitMs, undefined, { signal: over.signal }).then(
        () => this.kill(),
        () => undefined,
      )
      await this.#exited
      over.abort()
      await late
    }
    await new Promise<void>((resolve) => this.#log.end(() => resolve()))
  }

  #up(): void {
    this.#isUp = true
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  async #ended(child: ChildProcessWithoutNullStreams): Promise<void> {
    if (this.#child !== child) return
    this.#child = undefined
    const wasUp = this.#isUp
    this.#isUp = false
    if (this.#isStopping) return
    if (!this.#isKilled) {
      this.ownEnds[wasUp ? 'whileRunning' : 'whileStarting'] += 1
      this.#note(`ended by itself with ${child.exitCode ?? child.signalCode}`)
      await sleep(betweenStartsMs)
    }
    await Promise.all(this.#launch.needs.map((server) => server.up()))
    if (!this.#isStopping) this.start()
  }

  #note(what: string): void {
    this.#log.write(`--- ${new Date().toISOString()} ${this.name} ${what}\n`)
  }
}

/**
 * Stops the process and all its children, until no further one is found. One that starts during the kill would outlive
 * it. A process of Postgres may then wait for a lock of a killed one for ever, and no server starts beside it.
 */
async function stoppedWithDescendants(pid: number): Promise<ReadonlySet<number>> {
  const pids = new Set<number>()
  let found = [pid]
  while (found.length > 0) {
    for (const each of found) {
      send('SIGSTOP', each)
      pids.add(each)
    }
    found = (await descendantsOf(pid)).map((each) => each.pid).filter((each) => !pids.has(each))
  }
  return pids
}

function send(signal: 'SIGSTOP' | 'SIGKILL', pid: number): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It ended by itself.
  }
}
