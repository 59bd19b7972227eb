import { fork, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { HostAnswer, HostRequest } from './node-host.ts'

/** An event store for one test file. */
export interface TestEventStore {
  readonly url: string
  /** Folder of an embedded node's data. Empty for a real server. */
  readonly dataDir: string
  stop(): Promise<void>
}

/** The nodes of this process, in one child. It ends with this process. */
let host: ChildProcess | undefined
let asked = 0
const waiting = new Map<number, PromiseWithResolvers<number>>()

/**
 * An empty embedded node that nothing kills, also with `ESDB_URL`: for an installation, which shares no log. All of them
 * run in one child process, because the start of a process takes more processor time than most test files cause in their
 * node.
 */
export async function hostedEventStore(): Promise<TestEventStore> {
  const dataDir = await mkdtemp(join(tmpdir(), 'event-store-'))
  const port = await ask((id) => ({ id, open: dataDir }))
  return {
    url: `esdb://127.0.0.1:${port}?tls=false`,
    dataDir,
    stop: async () => {
      await ask((id) => ({ id, close: dataDir }))
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

function ask(requestOf: (id: number) => HostRequest): Promise<number> {
  asked += 1
  const answered = Promise.withResolvers<number>()
  waiting.set(asked, answered)
  host ??= startHost()
  host.send(requestOf(asked))
  return answered.promise
}

function startHost(): ChildProcess {
  const started = fork(fileURLToPath(new URL('node-host.ts', import.meta.url)), {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  })
  started.on('message', (answer: HostAnswer) => {
    const answered = waiting.get(answer.id)
    waiting.delete(answer.id)
    if ('port' in answer) answered?.resolve(answer.port)
    else answered?.reject(new Error(`event store: ${answer.failed}`))
  })
  started.once('exit', (code, signal) => {
    host = undefined
    for (const { reject } of waiting.values())
      reject(new Error(`the process of event stores ended by ${signal ?? code}`))
    waiting.clear()
  })
  // It does not keep this process from ending.
  started.unref()
  started.channel?.unref()
  return started
}
