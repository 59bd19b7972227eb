import { lookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { EgressError } from './egress-error.ts'
import { hostOf, isAddressAllowed, kindOfAddress, portOf, type OutboundRules } from './outbound-addresses.ts'

/** All addresses of a host name. */
export type ResolveHost = (host: string) => Promise<readonly LookupAddress[]>

export function resolveHost(host: string): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(host, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error)))
  })
}

export interface ConnectorOptions {
  readonly port: number
  readonly rules: OutboundRules
  readonly resolve: ResolveHost
  /** The configuration names this address for this purpose. */
  readonly isExempt: boolean
  /** The connection goes to this server. The request keeps the host of its own address: a presigned address signs it. */
  readonly via?: URL | undefined
}

const connectTimeoutMs = 10_000

/**
 * Connects only to allowed addresses: the name is resolved once, every address is checked, the socket takes one of
 * those, and the peer is checked again. A name that later resolves elsewhere (rebinding) is met by the next connection.
 */
export function createConnector({ port, rules, resolve, isExempt, via }: ConnectorOptions): buildConnector.connector {
  const isForbidden = (address: string, host: string): boolean => (
    kindOfAddress(address) === 'metadata' || (!isExempt && !isAddressAllowed(address, { host, port }, rules))
  )

  const checkedLookup: LookupFunction = (host, { all, family }, callback) => {
    resolve(host).then(
      (addresses) => {
        if (addresses.some(({ address }) => isForbidden(address, host))) {
          callback(new EgressError('address_forbidden'), [])
          return
        }
        const fitting = addresses.filter((one) => family !== 4 && family !== 6 || one.family === family)
        const [first] = fitting
        if (first === undefined) callback(new EgressError('dns'), [])
        else if (all === true) callback(null, fitting)
        else callback(null, first.address, first.family)
      },
      (error: unknown) => callback(error instanceof Error ? error : new EgressError('dns', { cause: error }), []),
    )
  }
  const connect = buildConnector({ timeout: connectTimeoutMs, lookup: checkedLookup })

  return (asked, callback) => {
    const options = via === undefined ? asked : { ...asked, ...placeOf(via) }
    const host = options.hostname.replace(/^\[|\]$/g, '')
    if (isIP(host) !== 0 && isForbidden(host, host)) {
      callback(new EgressError('address_forbidden'), null)
      return
    }
    connect(options, (...result) => {
      const [error, socket] = result
      if (error === null && isForbidden(socket.remoteAddress ?? '', host)) {
        socket.destroy()
        callback(new EgressError('address_forbidden'), null)
        return
      }
      callback(...result)
    })
  }
}

/** Where a connection goes, as undici names it. `servername` is the name that the certificate must have; an IP address has none. */
function placeOf(url: URL): Pick<buildConnector.Options, 'protocol' | 'hostname' | 'host' | 'port' | 'servername'> {
  const host = hostOf(url)
  return { protocol: url.protocol, hostname: url.hostname, host: url.host, port: String(portOf(url)), servername: isIP(host) === 0 ? host : '' }
}
