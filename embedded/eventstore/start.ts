import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export type EventStoreNodeOptions = {
  /** Folder of the node's data; created when missing, used by one process at a time. */
  dataDir: string
  /** 0 takes a free port. */
  port: number
  /** Node.js to run it with, this process's own by default. */
  nodePath?: string
}

export type EventStoreNode = {
  /** Connection string for the official client. */
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

/**
 * Starts an embedded EventStoreDB node in a process of its own and waits until it listens. It runs in its own process group, so
 * that Ctrl-C does not reach it, and stops when this process ends. Rejects with the node's message when it cannot start.
 */
export async function startEventStoreNode(options: EventStoreNodeOptions): Promise<EventStoreNode> {
  const child = spawn(
    options.nodePath ?? process.execPath,
    ['--disable-warning=ExperimentalWarning', MAIN, '--data', options.dataDir, '--port', String(options.port), '--exit-with-parent'],
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
    url: `esdb://127.0.0.1:${port}?tls=false`,
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

async function readyPort(child: ChildProcess): Promise<number> {
  let text = ''
  return new Promise((resolve) => {
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const line = text.split('\n').find((candidate) => candidate.startsWith('{'))
      if (line === undefined || !text.includes('\n')) return
      const ready: unknown = JSON.parse(line)
      if (typeof ready === 'object' && ready !== null && 'port' in ready) resolve(Number(ready.port))
    })
  })
}
