import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'
import {
  BIT_STRING,
  BOOLEAN,
  INTEGER,
  OCTET_STRING,
  SEQUENCE,
  SET,
  UTF8_STRING,
  contextTag,
  der,
  objectId,
  time,
} from './der.ts'

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2'
const COMMON_NAME = '2.5.4.3'
const BASIC_CONSTRAINTS = '2.5.29.19'
const ALTERNATIVE_NAMES = '2.5.29.17'
const DNS_NAME = 2
const IP_ADDRESS = 7
/**
 * The certificate never expires (RFC 5280, 4.1.2.5). Clients trust the file itself, and a wrong clock must not lock
 * them out.
 */
const VALID_FROM = new Date('2000-01-01T00:00:00Z')
const VALID_TO = new Date('9999-12-31T23:59:59Z')

/** Certificate and private key in PEM. */
export type KeyedCertificate = { certificate: string; key: string }

/** A self-signed certificate for these host names and IPv4 or IPv6 addresses. Clients trust it because they have the file. */
export function selfSignedCertificate(hosts: string[]): KeyedCertificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const algorithm = der(SEQUENCE, objectId(ECDSA_WITH_SHA256))
  const name = der(
    SEQUENCE,
    der(SET, der(SEQUENCE, objectId(COMMON_NAME), der(UTF8_STRING, Buffer.from('eventstore node')))),
  )
  const content = der(
    SEQUENCE,
    der(contextTag(0, true), der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.from([1]), randomBytes(15)),
    algorithm,
    name,
    der(SEQUENCE, time(VALID_FROM), time(VALID_TO)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(contextTag(3, true), der(SEQUENCE, noAuthority(), alternativeNames(hosts))),
  )
  const signature = sign('sha256', content, privateKey)
  const bytes = der(SEQUENCE, content, algorithm, der(BIT_STRING, Buffer.from([0]), signature))
  return { certificate: pem('CERTIFICATE', bytes), key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}

/** Some verifiers refuse a server that shows the certificate of an authority. Whoever has the key can issue no others. */
function noAuthority(): Buffer {
  return der(SEQUENCE, objectId(BASIC_CONSTRAINTS), der(BOOLEAN, Buffer.from([0xff])), der(OCTET_STRING, der(SEQUENCE)))
}

function alternativeNames(hosts: string[]): Buffer {
  const names = hosts.map((host) =>
    isIP(host) === 0
      ? der(contextTag(DNS_NAME, false), Buffer.from(host, 'latin1'))
      : der(contextTag(IP_ADDRESS, false), addressBytes(host)),
  )
  return der(SEQUENCE, objectId(ALTERNATIVE_NAMES), der(OCTET_STRING, der(SEQUENCE, ...names)))
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const groups = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const [first, last] = [groups(head), groups(tail)]
  const all = [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]))
}

function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').replaceAll(/(.{64})(?=.)/g, '$1\n')
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`
}
