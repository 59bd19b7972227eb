import type { ConnectionInjector } from '@grpc/grpc-js'
import type { Server as HttpServer } from 'node:http'
import { createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { errorCode } from '../error-codes.ts'

/** The first bytes of every HTTP/2 connection. */
const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1')
/** The order matters: a browser offers both and gets HTTP/1.1. A gRPC client offers only HTTP/2. */
const PROTOCOLS = ['http/1.1', 'h2']
/** Longest wait for the first byte of a connection. */
const LONGEST_SILENCE_MS = 10_000

export type ListenOptions = {
  host: string
  /** 0 takes a free port. */
  port: number
  /** Certificate and key in PEM. Connections are unencrypted without them. */
  tls: { certificate: string; key: string } | undefined
}

/**
 * Accepts the connections of one port. HTTP/2 connections carry gRPC calls, HTTP/1 connections carry operators'
 * requests.
 */
export class Listener {
  private readonly server: NetServer
  private readonly questions: HttpServer
  private readonly sockets = new Set<Socket>()
  private readonly options: ListenOptions
  private callConnections = 0

  constructor(options: ListenOptions, calls: ConnectionInjector, questions: HttpServer) {
    this.options = options
    this.questions = questions
    const handOver = (socket: Socket, isHttp2: boolean): void => {
      if (!isHttp2) questions.emit('connection', socket)
      else {
        this.callConnections += 1
        socket.once('close', () => (this.callConnections -= 1))
        calls.injectConnection(socket)
      }
    }
    if (options.tls === undefined)
      this.server = createServer({ noDelay: true }, (socket) => whenKnown(socket, handOver))
    else {
      const { certificate: cert, key } = options.tls
      this.server = createTlsServer(
        { cert, key, ALPNProtocols: PROTOCOLS, noDelay: true, handshakeTimeout: LONGEST_SILENCE_MS },
        (socket) => {
          handOver(socket, socket.alpnProtocol === 'h2')
        },
      )
    }
    this.server.on('connection', (socket: Socket) => {
      this.sockets.add(socket)
      socket.on('error', () => {}).once('close', () => this.sockets.delete(socket))
    })
  }

  /** Number of open connections that carry calls. */
  get connections(): number {
    return this.callConnections
  }

  /** Starts to listen and resolves with the port. Rejects when the port is taken. */
  async open(): Promise<number> {
    const { host, port } = this.options
    return new Promise((resolve, reject) => {
      const refuse = (error: Error): void => {
        const isTaken = errorCode(error) === 'EADDRINUSE'
        reject(isTaken ? new Error(`port ${port} on ${host} is already in use`) : error)
      }
      this.server.once('error', refuse).listen({ host, port }, () => {
        this.server.off('error', refuse).on('error', reportLost)
        resolve(portOf(this.server.address()))
      })
    })
  }

  /** Closes every connection and stops listening. */
  async close(): Promise<void> {
    // Ends its timer. It has no socket of its own to wait for.
    this.questions.close()
    for (const socket of this.sockets) socket.destroy()
    await new Promise<void>((resolve) => {
      this.server.close(() => resolve())
    })
  }
}

/** A connection that cannot be accepted, for example for lack of file descriptors, fails only for its client. */
function reportLost(error: Error): void {
  process.stderr.write(`${JSON.stringify({ level: 'error', event: 'connection-lost', message: error.message })}\n`)
}

/** Detects the protocol of a connection by its first bytes. They stay in the stream. */
function whenKnown(socket: Socket, then: (socket: Socket, isHttp2: boolean) => void): void {
  const giveUp = (): void => {
    socket.destroy()
  }
  socket.setTimeout(LONGEST_SILENCE_MS, giveUp)
  const look = (): void => {
    const bytes: unknown = socket.read()
    if (!(bytes instanceof Buffer)) return
    socket.off('readable', look).off('timeout', giveUp).setTimeout(0)
    socket.unshift(bytes)
    const length = Math.min(bytes.length, PREFACE.length)
    then(socket, bytes.subarray(0, length).equals(PREFACE.subarray(0, length)))
  }
  socket.on('readable', look)
}

function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('the node does not listen')
  return address.port
}
