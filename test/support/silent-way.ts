import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** A proxy to a database. Connections that it has silenced stay open and get nothing, not even their end. */
export async function silentWay(databaseUrl: string): Promise<{
  readonly url: string
  /** Silences the connections of this moment. */
  readonly silence: () => void
  readonly close: () => void
}> {
  const { hostname, port } = new URL(databaseUrl)
  const sockets = new Set<Socket>()
  const silenced = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const socket of [near, far]) sockets.add(socket.on('error', () => undefined))
    near.on('data', (bytes) => silenced.has(near) || far.write(bytes))
    far.on('data', (bytes) => silenced.has(far) || near.write(bytes))
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    silence: () => {
      for (const socket of sockets) silenced.add(socket)
    },
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
