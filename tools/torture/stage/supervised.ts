import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { createWriteStream, type WriteStream } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { descendantsOf } from '../../../test/end-to-end/bad-days/child-processes.ts'

export interface Launch {
  readonly name: string
  /** What follows Node.js on the command line. It ends when its standard input does. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  /** Where everything that it says is kept. */
  readonly log: string
  /** It is started anew only while these are up, as an installation says what depends on what: else it would start in vain. */
  readonly needs: readonly Supervised[]
}

/** As roles and servers of ours say it on standard output; what servers of others say on standard error is not it. */
const isReadyLine = /is ready|"ready":\s*true/
/** How long the next start waits after one that came to nothing. */
const betweenStartsMs = 150
const stopLimitMs = 15_000

/** A process that is started again whenever it has ended, as a supervisor of an installation does it. */
export class Supervised {
  readonly name: string
  readonly #launch: Launch
  readonly #log: WriteStream
  #child: ChildProcessWithoutNullStreams | undefined
  #exited: Promise<void> = Promise.resolve()
  #isUp = false
  #isStopping = false
  #isKilled = false
  #waiting: (() => void)[] = []
  /** How often it ended although nobody had killed it, by what it had come to. */
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

  /** Resolves once it is ready; at once when it is. */
  async up(): Promise<void> {
    if (!this.#isUp) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** SIGKILL to it and to everything that it has started; false when nothing ran at this moment. Resolves when it is gone. */
  async kill(): Promise<boolean> {
    const child = this.#child
    if (child?.pid === undefined) return false
    const below = await descendantsOf(child.pid)
    if (this.#child !== child) return false
    this.#isKilled = true
    this.#isUp = false
    this.#note('killed')
    for (const pid of [child.pid, ...below.map(({ pid }) => pid)]) killNow(pid)
    await this.#exited
    return true
  }

  /** SIGTERM, and SIGKILL to all that is left when that takes too long. It is not started again. */
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

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself between the look and the kill.
  }
}
