import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export type EventStoreNodeOptions = {
  /** Folder of the node's data; created when missing, used by one process at a time. */
  dataDir: string
  /** 0 takes a free port. */
  port: number
  /** Node.js to run it with, this process's own by default. */
  nodePath?: string
  /** Accounts; connections are then encrypted. Without it everyone is let in. */
  usersFile?: string
}

export type EventStoreNode = {
  /** Connection string for the official client; where there are accounts, without credentials. */
  url: string
  port: number
  pid: number
  /** Resolves when the process is gone, however that came about. */
  exited: Promise<void>
  /** Stops it cleanly. */
  stop(): Promise<void>
  /** Ends it with SIGKILL. */
  kill(): void
}

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url))
/** MiB of V8's space for new objects, 16 by default: what a node under load holds beyond its need is mostly that, three times. */
const NEW_SPACE = '--max-semi-space-size=4'

/**
 * Starts an embedded EventStoreDB node in a process of its own and waits until it listens. It runs in its own process group, so
 * that Ctrl-C does not reach it, and stops when this process ends. Rejects with the node's message when it cannot start.
 */
export async function startEventStoreNode(options: EventStoreNodeOptions): Promise<EventStoreNode> {
  const users = options.usersFile === undefined ? [] : ['--users', options.usersFile]
  const child = spawn(
    options.nodePath ?? process.execPath,
    ['--disable-warning=ExperimentalWarning', NEW_SPACE, MAIN, '--data', options.dataDir, '--port', String(options.port), '--exit-with-parent', ...users],
    { detached: true, stdio: ['pipe', 'pipe', 'pipe'] },
  )
  const errors: string[] = []
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors.push(text)
    process.stderr.write(text)
  })
  const exited = once(child, 'exit').then(() => {})
  const port = await Promise.race([readyPort(child), exited.then(() => Promise.reject(new Error(`the event store did not start: ${errors.join('').trim()}`)))])
  return {
    url: `esdb://127.0.0.1:${port}?${options.usersFile === undefined ? 'tls=false' : `tls=true&tlsCAFile=${join(options.dataDir, 'tls', 'certificate.pem')}`}`,
    port,
    pid: child.pid ?? 0,
    exited,
    kill: () => void child.kill('SIGKILL'),
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}

/** The port in the line that says that the node listens; what it reports as out of the ordinary goes on to standard error. */
async function readyPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    if (child.stdout === null) return
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!line.startsWith('{')) return
      const said: unknown = JSON.parse(line)
      if (typeof said !== 'object' || said === null) return
      if ('ready' in said && 'port' in said) resolve(Number(said.port))
      if ('level' in said && said.level !== 'info') process.stderr.write(`${line}\n`)
    })
  })
}
