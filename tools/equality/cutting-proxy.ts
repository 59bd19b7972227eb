import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'

/** `before`: the statement never reaches the server. `after`: it does, and its answer is lost. */
export type CutMoment = 'before' | 'after'

/**
 * A proxy to a Postgres. It can cut connections at a statement, or permanently, as when the client process is killed.
 */
export class CuttingProxy {
  readonly #server: Server
  readonly #upstream: { readonly host: string; readonly port: number }
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #armed: { left: number; readonly moment: CutMoment; readonly forGood: boolean } | undefined
  #isDead = false

  private constructor(upstream: URL) {
    this.#upstream = { host: upstream.hostname, port: Number(upstream.port) }
    this.#server = createServer((client) => this.#carry(client))
  }

  /** Returns the proxy and the address of the same database through it. */
  static async open(databaseUrl: string): Promise<{ readonly proxy: CuttingProxy; readonly url: string }> {
    const url = new URL(databaseUrl)
    const proxy = new CuttingProxy(url)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    url.hostname = '127.0.0.1'
    url.port = String((proxy.#server.address() as AddressInfo).port)
    return { proxy, url: url.href }
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** Cuts every connection at the statement after `statements` more of them. */
  cutAfter(statements: number, moment: CutMoment, forGood: boolean): void {
    this.#armed = { left: statements, moment, forGood }
  }

  /** Cuts all connections and accepts no more. */
  kill(): void {
    this.#isDead = true
    this.#armed = undefined
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy()
    this.#pairs.clear()
  }

  /**
   * Closes the proxy. A killed proxy keeps its port until then. Otherwise another proxy could get the port, and with it
   * the connections.
   */
  close(): void {
    this.kill()
    this.#server.close()
  }

  #carry(client: Socket): void {
    if (this.#isDead) {
      client.on('error', () => undefined).destroy()
      return
    }
    const server = connect(this.#upstream)
    const pair = [client, server] as const
    this.#pairs.add(pair)
    const end = (): void => {
      this.#pairs.delete(pair)
      for (const socket of pair) socket.destroy()
    }
    for (const socket of pair) socket.setNoDelay(true).on('close', end).on('error', end)
    let isAnswerLost = false
    client.on('data', (bytes) => {
      const moment = this.#countDown()
      if (moment === 'before') return this.#cut()
      if (moment === 'after') isAnswerLost = true
      server.write(bytes)
    })
    server.on('data', (bytes) => (isAnswerLost ? this.#cut() : client.write(bytes)))
  }

  #countDown(): CutMoment | undefined {
    if (this.#armed === undefined || this.#armed.left > 0) {
      if (this.#armed !== undefined) this.#armed.left -= 1
      return undefined
    }
    return this.#armed.moment
  }

  #cut(): void {
    const armed = this.#armed
    this.#armed = undefined
    if (armed?.forGood === true) this.kill()
    else for (const pair of this.#pairs) for (const socket of pair) socket.destroy()
  }
}
