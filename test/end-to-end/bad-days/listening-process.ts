import { readdir, readFile, readlink } from 'node:fs/promises'
import { descendantsOf } from './child-processes.ts'

/**
 * Stops the server that listens on the address's port of this machine, with all its processes (SIGSTOP). Linux only.
 */
export async function stopServer(address: string): Promise<StoppedServer> {
  const pid = await listenerOf(portOf(address))
  process.kill(pid, 'SIGSTOP')
  // The first process starts all others. After it is stopped, there are no new ones.
  const pids = [pid, ...(await descendantsOf(pid)).map((child) => child.pid)]
  signal(pids, 'SIGSTOP')
  return { goOn: () => signal(pids, 'SIGCONT') }
}

export interface StoppedServer {
  /** SIGCONT to all its remaining processes. */
  goOn(): void
}

function portOf(address: string): number {
  const { port } = new URL(address)
  if (port === '') throw new Error('an address without a port')
  return Number(port)
}

function signal(pids: readonly number[], name: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
    }
  }
}

/** The process that listens on a TCP port. If several share the socket, the oldest. */
async function listenerOf(port: number): Promise<number> {
  const tables = await Promise.all(
    ['/proc/net/tcp', '/proc/net/tcp6'].map((file) => readFile(file, 'utf8').catch(() => '')),
  )
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0')
  const sockets = tables
    .flatMap((table) => table.split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(`:${hexPort}`) === true && state === listening)
    .map((fields) => `socket:[${fields[9] ?? ''}]`)
  const pids = (await readdir('/proc'))
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .toSorted((a, b) => a - b)
  for (const pid of pids) if (await holdsOneOf(pid, sockets)) return pid
  throw new Error(`no process of this machine listens on port ${port}`)
}

const listening = '0A'

async function holdsOneOf(pid: number, sockets: readonly string[]): Promise<boolean> {
  const folder = `/proc/${pid}/fd`
  const names = await readdir(folder).catch(() => [])
  const targets = await Promise.all(names.map((name) => readlink(`${folder}/${name}`).catch(() => '')))
  return targets.some((target) => sockets.includes(target))
}
