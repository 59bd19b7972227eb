import { lookup, type LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { BlockList, isIP } from 'node:net'
import type { Profile } from '../kit/profiles.ts'
import { EgressError } from './egress-error.ts'

type Subnet = readonly [address: string, prefix: number]

/**
 * Loopback, private and shared addresses: inside a site. Allowed in development, and in production if EGRESS_ALLOW
 * lists them.
 */
const local: readonly Subnet[] = [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
  ['::1', 128],
  ['fc00::', 7],
]

/** Link-local addresses and the metadata services of clouds: never allowed, whatever the configuration is. */
const metadata: readonly Subnet[] = [
  ['169.254.0.0', 16],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.192', 32],
  ['fe80::', 10],
  ['fd00:ec2::', 32],
  ['fd20:ce::254', 128],
  ['fd00:c1::a9fe:a9fe', 128],
  ['fd00:42::42', 128],
  ['fd00:a9fe:a9fe::1', 128],
]

/**
 * Addresses outside the public internet (IANA special-purpose registries), or that wrap another address
 * (IPv4-compatible, NAT64, 6to4, Teredo, SRv6). IPv4-mapped addresses are matched as their IPv4 address.
 */
const special: readonly Subnet[] = [
  ['0.0.0.0', 8],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  ['::', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['100:0:0:1::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fec0::', 10],
  ['ff00::', 8],
]

/** IPv6 ranges that are assigned to the internet, and IPv4-mapped addresses. */
const global: readonly Subnet[] = [
  ['2000::', 3],
  ['::ffff:0:0', 96],
]

const lists = {
  local: blockListOf(local),
  metadata: blockListOf(metadata),
  special: blockListOf(special),
  global: blockListOf(global),
}

export type AddressKind = 'public' | 'local' | 'metadata' | 'special'

export function kindOfAddress(given: string): AddressKind {
  // A resolver appends the interface to a link-local address. The lists do not contain it.
  const [address = ''] = given.split('%')
  const version = isIP(address)
  if (version === 0) return 'special'
  const family = version === 6 ? 'ipv6' : 'ipv4'
  if (lists.metadata.check(address, family)) return 'metadata'
  if (lists.local.check(address, family)) return 'local'
  if (lists.special.check(address, family)) return 'special'
  return version === 6 && !lists.global.check(address, family) ? 'special' : 'public'
}

/** EGRESS_ALLOW: hosts, host:port pairs, addresses and address ranges. */
export interface EgressAllow {
  /** The host name as given, whatever it resolves to. */
  hasHost(host: string, port: number): boolean
  hasAddress(address: string): boolean
}

export function parseEgressAllow(entries: readonly string[]): EgressAllow {
  const hosts = new Set<string>()
  const ranges = new BlockList()
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/')
    if (isIP(address) === 0) hosts.add(entry.toLowerCase())
    else
      ranges.addSubnet(
        address,
        prefix === undefined ? (isIP(address) === 6 ? 128 : 32) : Number(prefix),
        isIP(address) === 6 ? 'ipv6' : 'ipv4',
      )
  }
  return {
    hasHost: (host, port) => hosts.has(host.toLowerCase()) || hosts.has(`${host.toLowerCase()}:${port}`),
    hasAddress: (address) => isIP(address) !== 0 && ranges.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'),
  }
}

/** Whether a text is a valid entry of EGRESS_ALLOW. */
export function isEgressEntry(entry: string): boolean {
  const [address = ''] = entry.split('/')
  if (isIP(address) === 0) return /^[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252})(?::\d{1,5})?$/.test(entry)
  return isAddressRange(entry)
}

/** An address, or a CIDR range. */
export function isAddressRange(entry: string): boolean {
  const [address = '', prefix, ...rest] = entry.split('/')
  if (isIP(address) === 0) return false
  return (
    rest.length === 0 &&
    (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (isIP(address) === 6 ? 128 : 32)))
  )
}

export interface OutboundRules {
  readonly profile: Profile
  readonly allow: EgressAllow
  /** The platform's own servers. */
  readonly own?: { includes(host: string, port: number): boolean }
}

/** Whether a connection to this address of this host is allowed. */
export function isAddressAllowed(
  address: string,
  { host, port }: { readonly host: string; readonly port: number },
  { profile, allow }: OutboundRules,
): boolean {
  const kind = kindOfAddress(address)
  if (kind === 'public') return true
  if (kind === 'metadata') return false
  if (allow.hasAddress(address)) return true
  return kind === 'local' && (profile === 'development' || allow.hasHost(host, port))
}

export type UrlRefusal = 'malformed' | 'too_long' | 'scheme' | 'credentials' | 'fragment' | 'port' | 'address'

/** The rule that a refused address breaks, as the detail of an error. It repeats nothing of the address. */
export const urlRules: Readonly<Record<UrlRefusal, string>> = {
  malformed: 'must be an absolute URL of visible ASCII characters',
  too_long: 'is too long',
  scheme: 'must begin with https:// (in development http:// too)',
  credentials: 'must not contain a user name or a password',
  fragment: 'must not contain a fragment',
  port: 'must not have this port',
  address: 'must not lead to a private, local or reserved network address',
}

/** Limit of a webhook's address. Presigned addresses contain signatures and are longer. */
const longestWebhookUrl = 2048

/**
 * Checks an address from a tenant when it is written: form, length, scheme, port, and the host if it is an IP address.
 * The addresses of a name, and the platform's own servers, are checked at each connection.
 */
export function checkOutboundUrl(
  text: string,
  rules: OutboundRules,
  maxLength = longestWebhookUrl,
): { readonly url: URL } | { readonly refused: UrlRefusal } {
  if (text.length > maxLength) return { refused: 'too_long' }
  // `URL` would silently drop control characters and turn backslashes into slashes.
  if (/[^\x21-\x7e]|\\/.test(text) || !URL.canParse(text)) return { refused: 'malformed' }
  const url = new URL(text)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && rules.profile === 'development'))
    return { refused: 'scheme' }
  if (url.username !== '' || url.password !== '' || (text.includes('@') && /^[a-z]+:\/\/[^/?#]*@/i.test(text)))
    return { refused: 'credentials' }
  if (text.includes('#')) return { refused: 'fragment' }
  const port = portOf(url)
  if (port === 0 || (rules.profile === 'production' && port !== 443 && port < 1024)) return { refused: 'port' }
  const host = hostOf(url)
  const literal = isLoopbackName(host) ? '127.0.0.1' : host
  if (isIP(literal) !== 0 && !isAddressAllowed(literal, { host, port }, rules)) return { refused: 'address' }
  // In production the answer would confirm a guess about our servers. There, only the connection is refused.
  if (rules.profile === 'development' && rules.own?.includes(host, port) === true) return { refused: 'address' }
  return { url }
}

/** RFC 6761, 6.3: nobody asks a name server for it. */
function isLoopbackName(host: string): boolean {
  return /(?:^|\.)localhost\.?$/.test(host)
}

export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}

/** Without the brackets of an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

function blockListOf(subnets: readonly Subnet[]): BlockList {
  const list = new BlockList()
  for (const [address, prefix] of subnets) list.addSubnet(address, prefix, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  return list
}

/** All addresses of a host name. */
export type ResolveHost = (host: string) => Promise<readonly LookupAddress[]>

const running = new Map<string, Promise<readonly LookupAddress[]>>()

/**
 * Half of libuv's threads look up names, whoever asks, and nobody can end a look-up. So a name is looked up once at a time: one
 * whose name server is silent holds one thread, not all of them.
 */
export function resolveHost(host: string): Promise<readonly LookupAddress[]> {
  const known = running.get(host)
  if (known !== undefined) return known
  const found = new Promise<readonly LookupAddress[]>((resolve, reject) => {
    lookup(host, { all: true }, (error, addresses) => (error === null ? resolve(addresses) : reject(error)))
  }).finally(() => running.delete(host))
  running.set(host, found)
  return found
}

/** How long a name server is waited for at first, in milliseconds, and how often it is asked. */
const asked = { timeout: 2_000, tries: 2 }

/**
 * By the name servers alone, without a thread. Otherwise two names whose servers are silent, which take ten seconds or more,
 * would hold up every other look-up of the process.
 *
 * @param nameServers default: those of the machine, as they are at this moment
 */
export async function askNameServers(host: string, nameServers?: readonly string[]): Promise<readonly LookupAddress[]> {
  if (isLoopbackName(host)) return [{ address: '127.0.0.1', family: 4 }]
  const resolver = new Resolver(asked)
  if (nameServers !== undefined) resolver.setServers(nameServers)
  const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  if (ipv4.status === 'rejected' && ipv6.status === 'rejected') throw new EgressError('dns', { cause: ipv4.reason })
  const found = (answer: typeof ipv4, family: 4 | 6) =>
    answer.status === 'rejected' ? [] : answer.value.map((address) => ({ address, family }))
  return [...found(ipv4, 4), ...found(ipv6, 6)]
}
