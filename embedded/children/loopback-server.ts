import type { Server } from 'node:http'
import { portFreed } from './free-port.ts'

const FINISH_REQUESTS_MS = 3_000

/** Listens on 127.0.0.1 and returns the port. `port` 0 takes a free one. The error for a taken port contains `part`. */
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

/** Accepts no more requests, gives those in hand up to 3 s to finish, and closes the remaining connections. */
export async function stopListening(server: Server): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), FINISH_REQUESTS_MS)
  await new Promise<void>((resolve) => {
    server.close(() => resolve())
    server.closeIdleConnections()
  })
  clearTimeout(timer)
}
