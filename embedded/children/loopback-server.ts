import type { Server } from 'node:http'
import { portFreed } from './free-port.ts'

const FINISH_REQUESTS_MS = 3_000

/** Listens on 127.0.0.1, on a free port when `port` is 0, and returns the port. A taken one is reported with `part`. */
export async function listenOnLoopback(server: Server, part: string, port: number): Promise<number> {
  if (port !== 0) await portFreed(part, port)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host: '127.0.0.1' }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error(`${part} has no port`)
  return address.port
}

/** Takes no more requests, lets those in hand finish for up to 3 s, and closes what is left. */
export async function stopListening(server: Server): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), FINISH_REQUESTS_MS)
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
  })
  clearTimeout(timer)
}
