import { connect, type AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import { selfSignedCertificate } from 'embedded-eventstore/self-signed'

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
  const { key, certificate } = selfSignedCertificate(['127.0.0.1'])
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
