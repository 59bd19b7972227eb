import { connect, createServer, type Socket } from 'node:net'

/** A TCP proxy to a server of this machine. It can delay, cut and silence connections. */
export interface Line {
  readonly port: number
  /** Delays every chunk in both directions, in milliseconds. 0 ends the delay. */
  slow(delayMs: number): void
  /** Cuts all connections at each interval, in milliseconds, and accepts new ones. Undefined ends this. */
  cutEvery(intervalMs: number | undefined): void
  /** Drops all bytes of the connections that are open now. Nobody learns of it. New connections work. */
  silence(): void
  /** Ends the connections that were silenced. */
  endSilence(): void
  close(): Promise<void>
}

/** Listens on a free port of 127.0.0.1 and forwards to the target port there. */
export async function openLine(target: number): Promise<Line> {
  const sockets = new Set<Socket>()
  const silenced = new Set<Socket>()
  let delayMs = 0
  let cutting: NodeJS.Timeout | undefined

  const server = createServer((caller) => {
    const onward = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [caller, onward],
      [onward, caller],
    ] as const) {
      sockets.add(from)
      from.setNoDelay(true)
      const underWay: (() => void)[] = []
      /** Keeps the order of the chunks, whichever timer fires first. */
      const later = (pass: () => void) => {
        underWay.push(pass)
        setTimeout(() => underWay.shift()?.(), delayMs)
      }
      from.on('data', (piece: Buffer) => {
        if (!silenced.has(from)) later(() => void (to.destroyed || to.write(piece)))
      })
      from.on('error', () => undefined)
      from.on('close', (isBroken) => {
        sockets.delete(from)
        silenced.delete(from)
        later(() => void (isBroken ? to.destroy() : to.end()))
      })
    }
  })

  function cut(): void {
    for (const socket of sockets) socket.destroy()
  }

  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    slow(ms) {
      delayMs = ms
    },
    cutEvery(intervalMs) {
      clearInterval(cutting)
      if (intervalMs === undefined) return
      cut()
      cutting = setInterval(cut, intervalMs)
    },
    silence() {
      for (const socket of sockets) silenced.add(socket)
    },
    endSilence() {
      for (const socket of silenced) socket.destroy()
    },
    close: () =>
      new Promise((resolve) => {
        clearInterval(cutting)
        server.close(() => resolve())
        cut()
      }),
  }
}
