import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '../../platform/kit/error-codes.ts'

const HOST = '127.0.0.1'
const POLL_MS = 100
/** Time that the children of a killed platform may need to release their ports. */
const DYING_HOLDER_MS = 10_000

/**
 * Below the range from which systems pick ports themselves. An outgoing connection cannot take a port that is kept for
 * later.
 */
const KEPT = { from: 20_000, below: 32_000 }
const TRIES = 100

/**
 * Returns a port of 127.0.0.1 on which nobody listens now. No other caller on this machine gets the same port while
 * this process lives. The server may therefore start later, or start again.
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
 * Waits until `port` on 127.0.0.1 can be bound, at most `waitMs`. The default is 10 s, enough for a holder that is
 * about to end. Throws an error that names the part and the port.
 */
export async function portFreed(part: string, port: number, waitMs: number = DYING_HOLDER_MS): Promise<void> {
  const deadline = performance.now() + waitMs
  for (;;) {
    try {
      await listenOnce(port)
      return
    } catch (error) {
      if (performance.now() >= deadline) {
        const code = errorCode(error) ?? 'unknown'
        throw new Error(`${part} cannot start: port ${port} on ${HOST} is taken (${code})`, { cause: error })
      }
      await sleep(POLL_MS)
    }
  }
}

/**
 * Reserves by a datagram socket with the same number. One process of the machine can hold it, and its end releases it.
 */
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
