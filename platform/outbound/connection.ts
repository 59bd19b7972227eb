import { isIP, type LookupFunction, type Socket } from 'node:net'
import { buildConnector } from 'undici'
import { readSmtpAddress } from '../configuration/smtp-address.ts'
import { EgressError, toEgressError } from './egress-error.ts'
import { type ResolveHost, hostOf, isAddressAllowed, kindOfAddress, portOf, type OutboundRules } from './addresses.ts'
import type { OwnAddresses, OwnServers } from './own-servers.ts'

export interface ConnectorOptions {
  readonly port: number
  readonly rules: OutboundRules
  readonly resolve: ResolveHost
  /** Undefined for an address that the configuration names for this purpose: only the metadata rule applies to it. */
  readonly own: OwnServers | undefined
  /**
   * The connection goes to this server. The request keeps the host of its own address, because a presigned address
   * signs it.
   */
  readonly via?: URL | undefined
}

const connectTimeoutMs = 10_000

/**
 * Connects only to allowed addresses. The name is resolved once and every address is checked. The socket uses one of
 * them, and the peer is checked again. If the name resolves elsewhere later (rebinding), the next connection checks
 * that.
 */
export function createConnector({ port, rules, resolve, own, via }: ConnectorOptions): buildConnector.connector {
  let ownAddresses: OwnAddresses | undefined

  function isForbidden(address: string, host: string): boolean {
    if (kindOfAddress(address) === 'metadata') return true
    if (own === undefined) return false
    return !isAddressAllowed(address, { host, port }, rules) || ownAddresses?.has(address, port) === true
  }

  const checkedLookup: LookupFunction = (host, { all, family }, callback) => {
    resolve(host).then(
      (addresses) => {
        if (addresses.some(({ address }) => isForbidden(address, host))) {
          callback(new EgressError('address_forbidden'), [])
          return
        }
        const fitting = addresses.filter((one) => (family !== 4 && family !== 6) || one.family === family)
        const [first] = fitting
        if (first === undefined) callback(new EgressError('dns'), [])
        else if (all === true) callback(null, fitting)
        else callback(null, first.address, first.family)
      },
      (error: unknown) => callback(error instanceof Error ? error : new EgressError('dns', { cause: error }), []),
    )
  }
  const connect = buildConnector({ timeout: connectTimeoutMs, lookup: checkedLookup })

  function connectTo(host: string, ...[options, callback]: Parameters<buildConnector.connector>): void {
    if (own?.includes(host, port) === true || (isIP(host) !== 0 && isForbidden(host, host))) {
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

  return (asked, callback) => {
    const options = via === undefined ? asked : { ...asked, ...placeOf(via) }
    const host = options.hostname.replace(/^\[|\]$/g, '')
    if (own === undefined) {
      connectTo(host, options, callback)
      return
    }
    own.resolved().then(
      (addresses) => {
        ownAddresses = addresses
        connectTo(host, options, callback)
      },
      (error: unknown) => callback(new EgressError('dns', { cause: error }), null),
    )
  }
}

/** The mail client starts TLS itself, with the name of the server in SMTP_URL. */
export function connectToMailServer(
  smtpUrl: string | undefined,
  options: Omit<ConnectorOptions, 'port'>,
): Promise<Socket> {
  const server = smtpUrl === undefined ? undefined : readSmtpAddress(smtpUrl)
  if (server === undefined) return Promise.reject(new EgressError('address_forbidden'))
  const { host, port } = server
  return new Promise((resolve, reject) => {
    createConnector({ ...options, port })(
      { protocol: 'http:', hostname: host, host, port: String(port) },
      (error, socket) => (error === null ? resolve(socket) : reject(toEgressError(error))),
    )
  })
}

/**
 * The target of a connection in undici's terms. `servername` is the required name in the certificate; an IP address has
 * none.
 */
function placeOf(url: URL): Pick<buildConnector.Options, 'protocol' | 'hostname' | 'host' | 'port' | 'servername'> {
  const host = hostOf(url)
  return {
    protocol: url.protocol,
    hostname: url.hostname,
    host: url.host,
    port: String(portOf(url)),
    servername: isIP(host) === 0 ? host : '',
  }
}
