import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { readEventStoreAddress } from '../kit/event-store-address.ts'
import { within } from '../kit/time-limits.ts'
import type { Configuration } from '../configuration/configuration.ts'
import { readSmtpAddress } from '../configuration/smtp-address.ts'
import { readDatabaseAddress } from '../database/database.ts'
import {
  hostOf,
  kindOfAddress,
  parseEgressAllow,
  portOf,
  type OutboundRules,
  resolveHost,
  type ResolveHost,
} from './addresses.ts'

/** The settings that name a server of the platform. */
export type OwnServerSettings = Pick<
  Configuration,
  | 'host'
  | 'port'
  | 'baseUrl'
  | 'authBaseUrl'
  | 'clinicalBaseUrl'
  | 'consentBaseUrl'
  | 'aiReviewBaseUrl'
  | 'usersBaseUrl'
  | 's3Endpoint'
  | 's3PublicEndpoint'
  | 'providerBaseUrl'
  | 'keycloakBaseUrl'
  | 'smtpUrl'
  | 'sesEndpoint'
  | 'slackApiUrl'
  | 'otelEndpoint'
  | 'transitUrl'
  | 'esdbUrl'
  | 'databaseUrl'
  | 'vaultDatabaseUrl'
>

interface OwnServer {
  readonly host: string
  readonly port: number
  /** An HTTPS server, whose certificate proves this name. */
  readonly isHttps?: boolean
  /** The other nodes of its cluster are on the same port, at addresses that no setting contains. */
  readonly isCluster?: boolean
}

/** The platform's own servers. No address of a tenant may reach them. */
export interface OwnServers {
  /** Compares with the name or address in a setting. Resolves nothing. */
  includes(host: string, port: number): boolean
  /** The current addresses of all servers. A name that does not resolve, or not soon, keeps its last addresses. */
  resolved(): Promise<OwnAddresses>
}

export interface OwnAddresses {
  has(address: string, port: number): boolean
}

/** How long resolved addresses are kept, in milliseconds. */
const keptMs = 10_000
/** How long a name is waited for that has been asked for before, in milliseconds. Then its last addresses count. */
const mostWaitMs = 1_000

/** The rules for addresses from tenants. */
export function outboundRules(
  configuration: OwnServerSettings & Pick<Configuration, 'profile' | 'egressAllow'>,
): OutboundRules {
  return {
    profile: configuration.profile,
    allow: parseEgressAllow(configuration.egressAllow),
    own: createOwnServers(configuration),
  }
}

interface OwnServersOptions {
  readonly resolve?: ResolveHost | undefined
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number
}

export function createOwnServers(
  settings: OwnServerSettings,
  { resolve = resolveHost, now = () => performance.now() }: OwnServersOptions = {},
): OwnServers {
  const servers = serversOf(settings)
  const names = new Set(servers.map(({ host, port }) => `${host}:${port}`))
  const literal = addressesOf(servers, literalAddressesOf)
  const hosts = [...new Set(servers.map(({ host }) => host))].filter((host) => literalAddressesOf(host).length === 0)
  const known = new Map<string, readonly string[]>()
  let kept: { readonly untilMs: number; readonly addresses: Promise<OwnAddresses> } | undefined

  async function resolveAll(): Promise<OwnAddresses> {
    await Promise.all(
      hosts.map(async (host) => {
        const answered = resolve(host).then(
          (found) => found.map(({ address }) => address),
          () => known.get(host) ?? [],
        )
        const kept = answered.then((addresses) => void known.set(host, addresses))
        // Each connection to a tenant's server waits for this.
        await (known.has(host) ? within(mostWaitMs, kept) : kept)
      }),
    )
    return addressesOf(servers, (host) => known.get(host) ?? literalAddressesOf(host))
  }

  return {
    includes: (host, port) =>
      names.has(`${normal(host)}:${port}`) ||
      literalAddressesOf(normal(host)).some((address) => literal.has(address, port)),
    resolved() {
      if (kept === undefined || kept.untilMs <= now()) kept = { untilMs: now() + keptMs, addresses: resolveAll() }
      return kept.addresses
    },
  }
}

function serversOf(settings: OwnServerSettings): OwnServer[] {
  const {
    esdbUrl,
    databaseUrl,
    vaultDatabaseUrl,
    baseUrl,
    authBaseUrl,
    clinicalBaseUrl,
    consentBaseUrl,
    aiReviewBaseUrl,
    usersBaseUrl,
  } = settings
  const {
    s3Endpoint,
    s3PublicEndpoint,
    providerBaseUrl,
    keycloakBaseUrl,
    smtpUrl,
    sesEndpoint,
    slackApiUrl,
    otelEndpoint,
    transitUrl,
  } = settings
  const mailServer = smtpUrl === undefined ? undefined : readSmtpAddress(smtpUrl)
  const store = esdbUrl === undefined ? undefined : readEventStoreAddress(esdbUrl)
  const httpAddresses = [
    baseUrl,
    authBaseUrl,
    clinicalBaseUrl,
    consentBaseUrl,
    aiReviewBaseUrl,
    usersBaseUrl,
    s3Endpoint,
    s3PublicEndpoint,
    providerBaseUrl,
    keycloakBaseUrl,
    transitUrl,
    sesEndpoint,
    slackApiUrl,
    otelEndpoint,
  ]
  const servers: OwnServer[] = [
    { host: settings.host, port: settings.port },
    ...(mailServer === undefined ? [] : [mailServer]),
    ...(store?.hosts ?? []).map((node) => ({ ...node, isCluster: store?.isCluster ?? false })),
    ...[databaseUrl, vaultDatabaseUrl]
      .flatMap((url) => (url === undefined ? [] : [readDatabaseAddress(url)]))
      .filter(({ host }) => !host.startsWith('/')),
    ...httpAddresses.flatMap((address) => {
      if (address === undefined) return []
      const url = new URL(address)
      return [{ host: hostOf(url), port: portOf(url), isHttps: url.protocol === 'https:' }]
    }),
  ]
  return servers.map((server) => ({ ...server, host: normal(server.host) }))
}

function normal(host: string): string {
  return host.toLowerCase().replace(/\.$/, '')
}

function literalAddressesOf(host: string): readonly string[] {
  if (isIP(host) !== 0) return [host]
  return host === 'localhost' || host.endsWith('.localhost') ? ['127.0.0.1', '::1'] : []
}

/**
 * There are three kinds of addresses. On this machine, a server's port is blocked on all of the machine's addresses.
 * Inside a site, all ports of a platform host are blocked, because its other ports are rarely public. On the internet,
 * a server's port is blocked. An HTTPS server there is blocked by name only: many names share such addresses, and the
 * certificate rejects all others.
 */
function addressesOf(servers: readonly OwnServer[], resolve: (host: string) => readonly string[]): OwnAddresses {
  const machine = thisMachine()
  const machinePorts = new Set<number>()
  const clusterPorts = new Set(servers.filter(({ isCluster }) => isCluster === true).map(({ port }) => port))
  const site = new BlockList()
  const internet = new Map<number, BlockList>()
  for (const { host, port, isHttps } of servers) {
    for (const address of resolve(host)) {
      if (holds(machine, address)) machinePorts.add(port)
      else if (kindOfAddress(address) !== 'public') add(site, address)
      else if (isHttps !== true) add(listAt(internet, port), address)
    }
  }
  return {
    has(given, port) {
      const [address = ''] = given.split('%')
      if (holds(machine, address)) return machinePorts.has(port)
      if (kindOfAddress(address) !== 'public') return holds(site, address) || clusterPorts.has(port)
      return holds(internet.get(port), address)
    },
  }
}

function listAt(lists: Map<number, BlockList>, port: number): BlockList {
  const list = lists.get(port) ?? new BlockList()
  lists.set(port, list)
  return list
}

function thisMachine(): BlockList {
  const list = new BlockList()
  list.addSubnet('127.0.0.0', 8, 'ipv4')
  for (const address of ['0.0.0.0', '::', '::1']) add(list, address)
  for (const { address } of Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []))
    add(list, address)
  return list
}

function add(list: BlockList, address: string): void {
  list.addAddress(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

/** An IPv4-mapped address counts as its IPv4 address. */
function holds(list: BlockList | undefined, address: string): boolean {
  return list !== undefined && isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}
