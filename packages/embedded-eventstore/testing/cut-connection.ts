import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export type CutConnection = {
  /** Connection string through the relay. */
  url: string
  /** Ends every connection, with a reset or like an ending process. New connections are possible. */
  cut(how?: 'reset' | 'close'): void
  /** Stops delivery in both directions and keeps the connections open. */
  freeze(): void
  /** Ends every new connection at once, until it is called with false. */
  refuse(isRefusing: boolean): void
  /** Connections that it has refused. */
  refused(): number
  /** Connections of clients that are open now. */
  connections(): number
  close(): Promise<void>
}

/** A relay in front of a store. A test uses it to break the network between the store and a client. */
export async function cutConnection(url: string): Promise<CutConnection> {
  const target = new URL(url.replace('esdb:', 'http:'))
  const sockets = new Set<Socket>()
  const clients = new Set<Socket>()
  let isRefusing = false
  let refused = 0
  // Without Nagle's algorithm, which would hold small frames back for 40 ms.
  const server = createServer({ noDelay: true }, (client) => {
    if (isRefusing) {
      refused += 1
      return void client.on('error', () => {}).resetAndDestroy()
    }
    clients.add(client.on('close', () => clients.delete(client)))
    const store = connect({ port: Number(target.port), host: target.hostname, noDelay: true })
    for (const [from, to] of [
      [client, store],
      [store, client],
    ] as const) {
      sockets.add(from)
      from
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(from)
          to.destroy()
        })
      from.pipe(to)
    }
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const cut = (how: 'reset' | 'close' = 'reset'): void => {
    for (const socket of sockets) {
      if (how === 'reset') socket.resetAndDestroy()
      else socket.destroy()
    }
  }
  return {
    url: `esdb://127.0.0.1:${portOf(server.address())}?tls=false`,
    cut,
    freeze: () => {
      for (const socket of sockets) socket.unpipe().pause()
    },
    refuse: (value) => {
      isRefusing = value
    },
    refused: () => refused,
    connections: () => clients.size,
    close: async () => {
      cut()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
      })
    },
  }
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the relay does not listen')
  return address.port
}
