import { readdir, readFile } from 'node:fs/promises'
import { waitFor } from '../../support/platform.ts'

export interface ChildProcess {
  readonly pid: number
  readonly command: string
}

interface Entry extends ChildProcess {
  readonly parent: number
}

/** All running descendants of a process. Linux only. */
export async function descendantsOf(pid: number): Promise<readonly ChildProcess[]> {
  const entries = await runningProcesses()
  const below = (parent: number): Entry[] =>
    entries.filter((entry) => entry.parent === parent).flatMap((entry) => [entry, ...below(entry.pid)])
  return below(pid)
}

/** Resolves when all have ended. */
export async function untilGone(children: readonly ChildProcess[]): Promise<void> {
  await waitFor(`the end of ${children.map(({ command }) => command).join(', ')}`, async () => {
    const running = await runningProcesses()
    return children.some(({ pid, command }) => running.some((entry) => entry.pid === pid && entry.command === command))
      ? undefined
      : true
  })
}

async function runningProcesses(): Promise<readonly Entry[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const entries = await Promise.all(pids.map(entryOf))
  return entries.filter((entry) => entry !== undefined)
}

async function entryOf(pid: string): Promise<Entry | undefined> {
  try {
    const [stat, command] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
    ])
    // The name in brackets may contain spaces. State and parent follow it.
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    if (state === 'Z' || state === 'X') return undefined
    return { pid: Number(pid), parent: Number(parent), command: command.replaceAll('\0', ' ').trim() }
  } catch {
    // The process ended after it was listed.
    return undefined
  }
}
