import { connect, createServer, type Socket } from 'node:net'

/** A TCP line to a server of this machine, which can be made bad. */
export interface Line {
  readonly port: number
  /** Every piece arrives so much later, in milliseconds, in both directions; 0 again: at once. */
  slow(delayMs: number): void
  /** Cuts whatever goes through it, every so many milliseconds, and takes new connections; undefined ends that. */
  cutEvery(intervalMs: number | undefined): void
  close(): Promise<void>
}

/** Listens on a port of 127.0.0.1 (0: a free one) and passes everything on to another one there. */
export async function openLine(target: number): Promise<Line> {
  const sockets = new Set<Socket>()
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
      /** Whichever timer is due, what came first passes first. */
      const later = (pass: () => void) => {
        underWay.push(pass)
        setTimeout(() => underWay.shift()?.(), delayMs)
      }
      from.on('data', (piece: Buffer) => later(() => void (to.destroyed || to.write(piece))))
      from.on('error', () => undefined)
      from.on('close', (isBroken) => {
        sockets.delete(from)
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
    close: () =>
      new Promise((resolve) => {
        clearInterval(cutting)
        server.close(() => resolve())
        cut()
      }),
  }
}
