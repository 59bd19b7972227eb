import type { Server } from 'node:net'
import type { Configuration } from '../configuration/configuration.ts'
import type { Logger } from '../observability/logging.ts'
import { parseEgressAllow } from '../outbound/addresses.ts'
import { networkOf } from './rate-limits.ts'

/** Refused connections are logged once in this time. Otherwise strangers could fill the log. */
const quietMs = 60_000

/**
 * Limits the connections of a server, per address and in total. Further connections are closed at once. A trusted proxy
 * has the connections of many callers, so only the total limit applies to it.
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
