import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/*
 * Servers that share a child process, because the start of a process takes more processor time than most test files
 * cause in their server.
 */

export interface HostedServer {
  readonly port: number
  readonly stop: () => Promise<void>
}

/** Starts a server in the child. */
export type OpenServer<Options> = (options: Options) => Promise<HostedServer>

/** `close` contains the id of the request that opened the server. */
type Request<Options> = { readonly id: number } & ({ readonly open: Options } | { readonly close: number })
/** The port of the server, or why it could not be opened or closed. */
type Answer = { readonly id: number } & ({ readonly port: number } | { readonly failed: string })

/** Opens servers in one child, which runs `script`. The child starts with the first server and ends with this process. */
export class ServerHost<Options> {
  private readonly script: URL
  private child: ChildProcess | undefined
  private lastId = 0
  private readonly waiting = new Map<number, PromiseWithResolvers<number>>()

  constructor(script: URL) {
    this.script = script
  }

  async open(options: Options): Promise<HostedServer> {
    const opened = this.newId()
    const port = await this.ask({ id: opened, open: options })
    return { port, stop: async () => void (await this.ask({ id: this.newId(), close: opened })) }
  }

  private newId(): number {
    this.lastId += 1
    return this.lastId
  }

  private ask(request: Request<Options>): Promise<number> {
    const answered = Promise.withResolvers<number>()
    this.waiting.set(request.id, answered)
    this.child ??= this.start()
    this.child.send(request)
    return answered.promise
  }

  private start(): ChildProcess {
    const path = fileURLToPath(this.script)
    const started = fork(path, { execArgv: ['--disable-warning=ExperimentalWarning'] })
    started.on('message', (answer: Answer) => {
      const answered = this.waiting.get(answer.id)
      this.waiting.delete(answer.id)
      if ('port' in answer) answered?.resolve(answer.port)
      else answered?.reject(new Error(answer.failed))
    })
    started.once('exit', (code, signal) => {
      this.child = undefined
      for (const { reject } of this.waiting.values()) reject(new Error(`${path} ended by ${signal ?? code}`))
      this.waiting.clear()
    })
    // It does not keep this process from ending.
    started.unref()
    started.channel?.unref()
    return started
  }
}

/** Makes this process the child of a ServerHost, which calls `open` for each server. */
export function hostServers<Options>(open: OpenServer<Options>): void {
  const servers = new Map<number, HostedServer>()
  async function portAfter(request: Request<Options>): Promise<number> {
    if ('open' in request) {
      const opened = await open(request.open)
      servers.set(request.id, opened)
      return opened.port
    }
    const server = servers.get(request.close)
    if (server === undefined) throw new Error('the server has ended before')
    servers.delete(request.close)
    await server.stop()
    return server.port
  }
  async function answerTo(request: Request<Options>): Promise<Answer> {
    try {
      return { id: request.id, port: await portAfter(request) }
    } catch (error) {
      return { id: request.id, failed: error instanceof Error ? error.message : String(error) }
    }
  }
  process.on('message', (request: Request<Options>) => {
    void answerTo(request).then((answer) => process.send?.(answer))
  })
  process.once('disconnect', () => process.exit())
}
