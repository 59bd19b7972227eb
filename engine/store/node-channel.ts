import { readFileSync } from 'node:fs'
import { isIP, type Socket } from 'node:net'
import { connect, createSecureContext, type SecureContext } from 'node:tls'
import { CallCredentials, Channel, ChannelCredentials, type ChannelInterface } from '@grpc/grpc-js'
import type { EventStoreAddress, NodeAddress } from '../../platform/kit/event-store-address.ts'
import { refuseCompression } from '../../platform/kit/event-store-client.ts'

/** A connection to one node. */
export interface NodeChannel {
  readonly channel: ChannelInterface
  readonly node: NodeAddress
  /** Ends its sockets at once, also those that are still connecting. */
  close(): void
}

/** Opens channels to nodes, with the certificates of the connection string. */
export type OpenChannel = (node: NodeAddress) => NodeChannel

/** @throws if a certificate file cannot be read. */
export function channelsOf(address: EventStoreAddress): OpenChannel {
  const { caFile, certificateFile, keyFile, keepAliveIntervalMs, keepAliveTimeoutMs } = address
  const context = address.isEncrypted
    ? createSecureContext({ ca: read(caFile), cert: read(certificateFile), key: read(keyFile) })
    : undefined
  return (node) => {
    const sockets = new NodeSockets(node.host, context)
    const target = isIP(node.host) === 6 ? `[${node.host}]:${node.port}` : `${node.host}:${node.port}`
    const channel = new Channel(target, sockets, {
      'grpc.keepalive_time_ms': keepAliveIntervalMs ?? Number.MAX_SAFE_INTEGER,
      'grpc.keepalive_timeout_ms': keepAliveTimeoutMs,
      // The store may hold events up to this size, written before its limit was lowered.
      'grpc.max_receive_message_length': 17 * 1024 * 1024,
      // Otherwise a new channel to the same node uses the old connection, which may be dead.
      'grpc.use_local_subchannel_pool': 1,
    })
    refuseCompression(channel)
    return {
      channel,
      node,
      close() {
        channel.close()
        sockets.destroy()
      },
    }
  }
}

function read(file: string | undefined): Buffer | undefined {
  return file === undefined ? undefined : readFileSync(file)
}

/**
 * Makes the sockets of one channel, and keeps them. grpc-js forgets a socket if its channel is closed while the socket
 * connects; it then stays open for ever. grpc-js also sends an IP address as the name of the server, which TLS forbids
 * (RFC 6066, 3).
 */
class NodeSockets extends ChannelCredentials {
  readonly #host: string
  readonly #context: SecureContext | undefined
  readonly #open = new Set<Socket>()
  #isClosed = false

  constructor(host: string, context: SecureContext | undefined) {
    super()
    this.#host = host
    this.#context = context
  }

  destroy(): void {
    this.#isClosed = true
    for (const socket of this.#open) socket.destroy()
  }

  _isSecure(): boolean {
    return this.#context !== undefined
  }

  _equals(other: ChannelCredentials): boolean {
    return other === this
  }

  _createSecureConnector() {
    return {
      connect: async (socket: Socket) => {
        this.#keep(socket)
        return { socket: await this.#secured(socket), secure: this._isSecure() }
      },
      waitForReady: () => Promise.resolve(),
      getCallCredentials: () => CallCredentials.createEmpty(),
      destroy: () => undefined,
    }
  }

  #keep(socket: Socket): void {
    this.#open.add(socket)
    socket.once('close', () => this.#open.delete(socket))
    if (this.#isClosed) socket.destroy()
  }

  #secured(socket: Socket): Promise<Socket> {
    const secureContext = this.#context
    if (secureContext === undefined) return Promise.resolve(socket)
    const name = isIP(this.#host) === 0 ? { servername: this.#host } : {}
    return new Promise((resolve, reject) => {
      const secured = connect({ socket, secureContext, host: this.#host, ...name, ALPNProtocols: ['h2'] }, () =>
        resolve(secured),
      )
      secured.once('error', reject)
      secured.once('close', () => reject(new Error('the connection ended')))
    })
  }
}
