import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const HOST = '127.0.0.1'
const POLL_MS = 100
/** How long the children of a killed platform may take to let go of their ports. */
const DYING_HOLDER_MS = 10_000

/** Below the ports that systems hand out by themselves: what is kept for later is not taken by an outgoing connection. */
const KEPT = { from: 20_000, below: 32_000 }
const TRIES = 100

/**
 * A port of 127.0.0.1 that nobody listens on at this moment, and that nobody else is given who asks here or elsewhere on
 * this machine, as long as this process lives: what is started on it may be a while in coming, or be started again.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 1; attempt < TRIES; attempt++) {
    const port = randomInt(KEPT.from, KEPT.below)
    if (!(await reserve(port))) continue
    const free = await listenOnce(port).catch(() => undefined)
    if (free !== undefined) return free
  }
  return listenOnce(0)
}

/**
 * Waits until `port` on 127.0.0.1 can be bound, at most `waitMs` (10 s, for the holder that is just dying).
 * Throws an error that names the part and the port.
 */
export async function portFreed(part: string, port: number, waitMs: number = DYING_HOLDER_MS): Promise<void> {
  const deadline = performance.now() + waitMs
  for (;;) {
    try {
      await listenOnce(port)
      return
    } catch (error) {
      if (performance.now() >= deadline) {
        const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
        throw new Error(`${part} cannot start: port ${port} on ${HOST} is taken (${code})`, { cause: error })
      }
      await sleep(POLL_MS)
    }
  }
}

/** By a datagram socket of the same number, which one process of the machine can have, and none after its end. */
function reserve(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4')
    socket.on('error', () => {
      socket.close()
      resolve(false)
    })
    socket.bind({ port, address: HOST, exclusive: true }, () => {
      socket.unref()
      resolve(true)
    })
  })
}

function listenOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', reject)
    server.listen({ port, host: HOST }, () => {
      const address = server.address()
      const bound = address !== null && typeof address === 'object' ? address.port : port
      server.close(() => resolve(bound))
    })
  })
}
