import { createServer, connect, type Server, type Socket } from 'node:net'
import { once } from 'node:events'

/** `through` connects to the real server. `hangs` accepts connections and never answers. `closed` refuses them. */
type Mode = 'through' | 'hangs' | 'closed'

export interface SwitchableServer {
  readonly port: number
  /** Ends all connections of the mode before. */
  become(mode: Mode): Promise<void>
  stop(): Promise<void>
}

/** A server in front of another one, which can die and recover. */
export async function startSwitchableServer(realPort: number): Promise<SwitchableServer> {
  let mode: Mode = 'through'
  let server: Server | undefined
  const sockets = new Set<Socket>()
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
  }
  const listen = async (port: number): Promise<number> => {
    server = createServer((socket) => {
      keep(socket)
      if (mode !== 'through') return
      const real = connect(realPort, '127.0.0.1')
      keep(real)
      socket.pipe(real).pipe(socket)
      socket.on('close', () => real.destroy())
      real.on('close', () => socket.destroy())
    }).listen(port, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('a server without a port')
    return address.port
  }
  const close = async (): Promise<void> => {
    const closed = server?.listening === true ? once(server, 'close') : undefined
    server?.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  const port = await listen(0)
  return {
    port,
    become: async (next) => {
      await close()
      mode = next
      if (mode !== 'closed') await listen(port)
    },
    stop: close,
  }
}
