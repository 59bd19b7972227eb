import type { Server } from 'node:net'
import type { Configuration } from '../configuration/configuration.ts'
import type { Logger } from '../observability/logging.ts'
import { parseEgressAllow } from '../outbound/addresses.ts'
import { networkOf } from './rate-limits.ts'

/** Refused connections are logged once in this time: each one would be a line that a stranger orders. */
const quietMs = 60_000

/**
 * Limits the connections of a server: those of one address, so that it leaves some to others, and all of them. Further
 * ones are closed at once. A trusted proxy carries the connections of many callers, so only the limit of all holds.
 */
export function limitConnections(
  server: Server,
  {
    maxConnections,
    maxConnectionsPerAddress,
    trustedProxies,
  }: Pick<Configuration, 'maxConnections' | 'maxConnectionsPerAddress' | 'trustedProxies'>,
  logger: Logger,
): void {
  const proxies = parseEgressAllow(trustedProxies)
  const open = new Map<string, number>()
  let loggedAt = -Infinity

  server.maxConnections = maxConnections
  server.on('drop', (dropped) => logRefusal('MAX_CONNECTIONS', dropped?.remoteAddress))
  server.on('connection', (socket) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined || proxies.hasAddress(remoteAddress)) return
    const network = networkOf(remoteAddress)
    const others = open.get(network) ?? 0
    if (others >= maxConnectionsPerAddress) {
      socket.destroy()
      logRefusal('MAX_CONNECTIONS_PER_ADDRESS', remoteAddress)
      return
    }
    open.set(network, others + 1)
    socket.once('close', () => {
      const left = (open.get(network) ?? 1) - 1
      if (left === 0) open.delete(network)
      else open.set(network, left)
    })
  })

  function logRefusal(reason: string, sourceAddress: string | undefined): void {
    const now = performance.now()
    if (now < loggedAt + quietMs) return
    loggedAt = now
    logger.warn({ reason, ...(sourceAddress === undefined ? {} : { sourceAddress }) }, 'connections refused')
  }
}
