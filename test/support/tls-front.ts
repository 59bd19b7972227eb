import { createPrivateKey, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { connect, type AddressInfo } from 'node:net'
import { createServer } from 'node:tls'

/** An https address in front of a plain server on loopback. */
export interface TlsFront {
  readonly url: string
  /** PEM. A client that trusts it trusts this front and nothing else. */
  readonly certificate: string
  close(): Promise<void>
}

/** Removes TLS and passes everything on to the server of `target`. */
export async function startTlsFront(target: string): Promise<TlsFront> {
  const { port, pathname } = new URL(target)
  const { key, certificate } = selfSigned()
  const sockets = new Set<{ destroy(): unknown }>()
  const server = createServer({ key, cert: certificate }, (outer) => {
    const inner = connect(Number(port), '127.0.0.1')
    for (const [socket, other] of [
      [outer, inner],
      [inner, outer],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => sockets.delete(socket))
      socket.pipe(other)
    }
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    certificate,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/**
 * A certificate for 127.0.0.1, valid for a day (RFC 5280). It is built here because Node.js cannot create certificates.
 */
export function selfSigned(): { readonly key: string; readonly certificate: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  const hour = 3_600_000
  const name = sequence(der(0x31, sequence(objectId('550403'), der(0x0c, Buffer.from('test receiver')))))
  const algorithm = sequence(objectId('2a8648ce3d040302'))
  const content = sequence(
    der(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    name,
    sequence(time(Date.now() - hour), time(Date.now() + 24 * hour)),
    name,
    publicKey,
    der(
      0xa3,
      sequence(
        sequence(objectId('551d13'), der(0x04, sequence(der(0x01, Buffer.from([0xff]))))),
        sequence(objectId('551d11'), der(0x04, sequence(der(0x87, Buffer.from([127, 0, 0, 1]))))),
      ),
    ),
  )
  const certificate = sequence(content, algorithm, bits(signed(content, createPrivateKey(privateKey))))
  const lines = certificate.toString('base64').replace(/.{64}/g, '$&\n')
  return { key: privateKey, certificate: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n` }
}

function signed(content: Buffer, key: KeyObject): Buffer {
  return sign('sha256', content, key)
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts)
}

function integer(bytes: Buffer): Buffer {
  return der(0x02, bytes)
}

function objectId(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

function bits(bytes: Buffer): Buffer {
  return der(0x03, Buffer.from([0]), bytes)
}

/** As UTCTime: YYMMDDhhmmssZ. */
function time(instant: number): Buffer {
  return der(0x17, Buffer.from(`${new Date(instant).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`))
}
