import { readdir, readFile } from 'node:fs/promises'

/** Whether `/proc` lists processes here. */
export const tellsOfProcesses = process.platform === 'linux'

/** A process and all its descendants, without the children in `but` and their descendants. Linux only. */
export async function processTree(root: number, but: readonly number[]): Promise<readonly [number, ...number[]]> {
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

/**
 * Processor time of a tree and of its ended children in seconds, or of the ended children alone. `processTree` lists a
 * parent before its children, so the parents are read last: one of them has the time of a child that ended meanwhile.
 * @throws Error if the root of the tree has ended, because nothing read has its time
 */
export async function processorSeconds(
  [root, ...descendants]: readonly [number, ...number[]],
  counted: 'all' | 'ended children' = 'all',
): Promise<number> {
  let ticks = 0
  for (const pid of [...descendants.toReversed(), root]) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
    if (stat === undefined && pid === root) throw new Error(`process ${root} has ended, and its time with it`)
    const [user = 0, system = 0, userOfEnded = 0, systemOfEnded = 0] =
      stat
        ?.slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .slice(11, 15)
        .map(Number) ?? []
    ticks += userOfEnded + systemOfEnded + (counted === 'all' ? user + system : 0)
  }
  return ticks / ticksPerSecond
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
