import { isIPv6 } from 'node:net'

export interface NodeAddress {
  /** A name, or an IP address without brackets. */
  readonly host: string
  readonly port: number
}

/** The nodes that a connection prefers. */
export type NodePreference = 'leader' | 'follower' | 'readonlyreplica' | 'random'

/** A connection string of an event store. */
export interface EventStoreAddress {
  readonly hosts: readonly NodeAddress[]
  /** The nodes of a cluster are found by gossip, so some of their addresses are not in the string. */
  readonly isCluster: boolean
  readonly isEncrypted: boolean
  readonly user: string | undefined
  readonly password: string | undefined
  /** True with a user and password, or with a client certificate. Both are sent only with TLS. */
  readonly hasCredentials: boolean
  /** Files in PEM format. */
  readonly caFile: string | undefined
  readonly certificateFile: string | undefined
  readonly keyFile: string | undefined
  readonly connectionName: string | undefined
  readonly nodePreference: NodePreference
  readonly gossipTimeoutMs: number
  /** Undefined turns keep-alive off. */
  readonly keepAliveIntervalMs: number | undefined
  readonly keepAliveTimeoutMs: number
}

const form = /^(?:(esdb|kurrentdb)(\+discover)?|kdb(\+discover)?):\/\/(?:([^:@/?]+):([^@]+)@)?([^/?]+)\/?(?:\?(.*))?$/s
const defaultPort = 2113
/** The unit is seconds in this client, milliseconds in others: a larger value is a mistake. */
const mostGossipSeconds = 60

/** Options that the official client reads and the platform decides itself: it never gives up, and limits each call. */
const withoutEffect = ['maxdiscoverattempts', 'discoveryinterval', 'defaultdeadline', 'throwonappendfailure']

/** Options by name, in lower case. Names ignore case, hyphens and underscores, as in the official clients. */
type Options = ReadonlyMap<string, string>

/**
 * Reads a connection string as the official clients write it: `esdb://`, `kurrentdb://` or `kdb://`, each also with
 * `+discover`. Undefined if it has another form, or an option that would be ignored.
 */
export function readEventStoreAddress(url: string): EventStoreAddress | undefined {
  const [, scheme, discover, shortDiscover, user, password, hostList = '', optionList] = form.exec(url.trim()) ?? []
  const hosts = hostList.split(',').map(readHost)
  const options = readOptions(optionList)
  if (options === undefined || !hosts.every((host) => host !== undefined)) return undefined
  const keepAliveInterval = number(options, 'keepaliveinterval', -1, 10_000)
  const keepAliveTimeout = number(options, 'keepalivetimeout', -1, 10_000)
  const gossipSeconds = number(options, 'gossiptimeout', 1, 5)
  const isEncrypted = flag(options, 'tls')
  const nodePreference = readPreference(options.get('nodepreference'))
  const texts = [user, password, ...fileOptions.map((name) => options.get(name))].map(decoded)
  if (
    keepAliveInterval === undefined ||
    keepAliveTimeout === undefined ||
    gossipSeconds === undefined ||
    gossipSeconds > mostGossipSeconds ||
    isEncrypted === undefined ||
    nodePreference === undefined ||
    !texts.every((text) => text !== null)
  )
    return undefined
  const [userName, secret, caFile, certificateFile, keyFile, connectionName] = texts
  return {
    hosts,
    isCluster: (scheme === undefined ? shortDiscover : discover) !== undefined || hosts.length > 1,
    isEncrypted,
    user: userName,
    password: secret,
    hasCredentials: isEncrypted && (userName !== undefined || (certificateFile !== undefined && keyFile !== undefined)),
    caFile,
    certificateFile,
    keyFile,
    connectionName,
    nodePreference,
    gossipTimeoutMs: gossipSeconds * 1_000,
    keepAliveIntervalMs: keepAliveInterval === -1 ? undefined : keepAliveInterval,
    keepAliveTimeoutMs: keepAliveTimeout === -1 ? 10_000 : keepAliveTimeout,
  }
}

const fileOptions = ['tlscafile', 'usercertfile', 'userkeyfile', 'connectionname'] as const
const known = new Set([
  ...withoutEffect,
  ...fileOptions,
  'gossiptimeout',
  'nodepreference',
  'tls',
  'tlsverifycert',
  'keepaliveinterval',
  'keepalivetimeout',
])

function readHost(text: string): NodeAddress | undefined {
  const [, ipv6, name, digits] = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const host = ipv6 ?? name
  const port = digits === undefined ? defaultPort : Number(digits)
  if (host === undefined || (ipv6 !== undefined && !isIPv6(ipv6)) || port < 1 || port > 65_535) return undefined
  return { host, port }
}

function readOptions(list: string | undefined): Options | undefined {
  const options = new Map<string, string>()
  for (const option of list === undefined ? [] : list.split('&')) {
    const [, name = '', value = ''] = /^([\w-]+)=(.+)$/s.exec(option) ?? []
    const flatName = name.toLowerCase().replaceAll(/[_-]/g, '')
    // A certificate is always verified.
    if (!known.has(flatName) || (flatName === 'tlsverifycert' && value.trim() !== 'true')) return undefined
    options.set(flatName, value.trim())
  }
  return options
}

function number(options: Options, name: string, least: number, otherwise: number): number | undefined {
  const text = options.get(name)
  if (text === undefined) return otherwise
  return /^-?\d{1,9}$/.test(text) && Number(text) >= least ? Number(text) : undefined
}

function flag(options: Options, name: string): boolean | undefined {
  const text = options.get(name) ?? 'true'
  return text === 'true' || text === 'false' ? text === 'true' : undefined
}

function readPreference(text = 'leader'): NodePreference | undefined {
  const flat = text.toLowerCase().replaceAll(/[_-]/g, '')
  return (['leader', 'follower', 'readonlyreplica', 'random'] as const).find((preference) => preference === flat)
}

/** Null if it is not percent-encoded. */
function decoded(text: string | undefined): string | null | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text)
  } catch {
    return null
  }
}
