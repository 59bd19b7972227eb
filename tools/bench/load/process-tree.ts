import { readdir, readFile } from 'node:fs/promises'

/** Whether `/proc` lists processes here. */
export const tellsOfProcesses = process.platform === 'linux'

/** A process and all its descendants, without the children in `but` and their descendants. Linux only. */
export async function processTree(root: number, but: readonly number[]): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const parents = new Map<number, number>()
  for (const pid of pids) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
    // The name in brackets may contain spaces. After it come the state, the parent, and so on.
    const parent = stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[1]
    if (parent !== undefined) parents.set(pid, Number(parent))
  }
  const below = (pid: number): number[] =>
    [...parents]
      .filter(([child, parent]) => parent === pid && !but.includes(child))
      .flatMap(([child]) => [child, ...below(child)])
  return [root, ...below(root)]
}

/** Ticks of the figures in `/proc`, on every Linux. */
const ticksPerSecond = 100

/** Processor time of processes and of their ended children in seconds, or of the ended children alone. */
export async function processorSeconds(
  pids: readonly number[],
  counted: 'all' | 'ended children' = 'all',
): Promise<number> {
  const ticks = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
      const [user = 0, system = 0, ...ended] = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .slice(11, 15)
        .map(Number)
      const [userOfEnded = 0, systemOfEnded = 0] = ended
      return userOfEnded + systemOfEnded + (counted === 'all' ? user + system : 0)
    }),
  )
  return ticks.reduce((sum, each) => sum + each, 0) / ticksPerSecond
}

/** Resident memory of processes in bytes. An ended process counts as 0. */
export async function residentBytes(pids: readonly number[]): Promise<number> {
  const held = await Promise.all(pids.map(residentOf))
  return held.reduce((sum, bytes) => sum + bytes, 0)
}

async function residentOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024
}
