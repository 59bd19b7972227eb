import { parseConnectionString, type ConnectionOptions, type QueryOptions } from '../kit/event-store-client.ts'

/** A connection string of an event store, parsed as the official client does. */
export interface EventStoreAddress {
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  /** The client discovers the nodes of a cluster, so some of their addresses are not in the string. */
  readonly isCluster: boolean
  readonly isEncrypted: boolean
  /** True with a user and password, or with a client certificate. The client sends both only with TLS. */
  readonly hasCredentials: boolean
  readonly password: string | undefined
}

/**
 * Undefined if the client refuses the string or ignores one of its options. For an ignored option the client prints the
 * whole string, password included, each time it reads it.
 */
export function readEventStoreAddress(url: string): EventStoreAddress | undefined {
  const options = parsed(url)
  if (options === undefined) return undefined
  const hosts = options.hosts.map(({ address, port }) => ({ host: address, port }))
  if (
    hosts.length === 0 ||
    !hosts.every(({ host, port }) => /^[A-Za-z0-9._-]+$/.test(host) && port > 0 && port < 65_536)
  )
    return undefined
  const { defaultCredentials, userCertFile, userKeyFile } = options
  const isEncrypted = options.tls !== false
  return {
    hosts,
    isCluster: options.dnsDiscover || hosts.length > 1,
    isEncrypted,
    hasCredentials:
      isEncrypted && (defaultCredentials !== undefined || (userCertFile !== undefined && userKeyFile !== undefined)),
    password: defaultCredentials?.password,
  }
}

const optionNames: Readonly<Record<keyof QueryOptions, true>> = {
  userCertFile: true,
  userKeyFile: true,
  maxDiscoverAttempts: true,
  connectionName: true,
  defaultDeadline: true,
  discoveryInterval: true,
  gossipTimeout: true,
  nodePreference: true,
  tls: true,
  tlsVerifyCert: true,
  tlsCAFile: true,
  throwOnAppendFailure: true,
  keepAliveInterval: true,
  keepAliveTimeout: true,
}

/** The client ignores case, hyphens and underscores in option names. */
const known = new Set(Object.keys(optionNames).map((name) => name.toLowerCase()))

function parsed(url: string): ConnectionOptions | undefined {
  if (!areOptionsApplied(url)) return undefined
  try {
    return parseConnectionString(url)
  } catch {
    // Its message quotes the string.
    return undefined
  }
}

function areOptionsApplied(url: string): boolean {
  const begin = url.indexOf('?', url.lastIndexOf('@') + 1)
  if (begin === -1) return true
  return url
    .slice(begin + 1)
    .split('&')
    .every((option) => {
      const [, name = '', value = ''] = /^([\w-]+)=(.+)$/s.exec(option) ?? []
      const flatName = name.toLowerCase().replaceAll(/[_-]/g, '')
      return known.has(flatName) && !(flatName === 'tlsverifycert' && value.trim() !== 'true')
    })
}
