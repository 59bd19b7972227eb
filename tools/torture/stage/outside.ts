import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { at } from '../../../app/demo/members.ts'

/** A process outside of the installation that nothing kills: the load, the receiver of webhooks. */
export interface Outside {
  /** Its ready message. */
  readonly ready: unknown
  /** Aborts when the process ends by itself. */
  readonly lost: AbortSignal
  /** Sends SIGTERM and resolves with its last message. Rejects on another exit code than 0. */
  finish(): Promise<unknown>
  /** Kills the process. */
  kill(): void
}

/** Starts `outside/<name>-main.ts` and resolves at its ready message. */
export async function startOutside(
  name: 'load' | 'receiver',
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Outside> {
  const file = fileURLToPath(new URL(`../outside/${name}-main.ts`, import.meta.url))
  const child = spawn(process.execPath, [file, ...args], {
    detached: true,
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.on('error', () => undefined)
  const exited = once(child, 'exit')
  const lost = new AbortController()
  let isEnding = false
  child.once('exit', (code, signal) => {
    if (!isEnding) lost.abort(new Error(`${name} ended by itself, with ${code ?? signal}`))
  })
  const said = linesOf(child)
  const ready = await Promise.race([said.next(), exited.then(() => Promise.reject(new Error(`${name} did not start`)))])
  return {
    ready: ready.value,
    lost: lost.signal,
    async finish() {
      isEnding = true
      child.kill('SIGTERM')
      const last = await said.next()
      await exited
      if (child.exitCode !== 0) throw new Error(`${name} ended with ${child.exitCode ?? child.signalCode}`)
      return last.value
    },
    kill() {
      isEnding = true
      child.kill('SIGKILL')
    },
  }
}

async function* linesOf(
  child: ChildProcessByStdio<Writable, Readable, null>,
): AsyncGenerator<unknown, undefined, undefined> {
  for await (const line of createInterface({ input: child.stdout })) yield JSON.parse(line)
  return undefined
}

export function portOf({ ready }: Outside): number {
  return Number(at(ready, 'port'))
}
