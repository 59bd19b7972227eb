import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { Socket } from 'node:net'

/** Connection attempts of this process since the watch began, as `address port`. Recorded at the sockets themselves. */
export interface ConnectionAttempts {
  readonly made: readonly string[]
  stop(): void
}

export function watchConnectionAttempts(): ConnectionAttempts {
  const made: string[] = []
  const onSocket = (message: unknown): void => {
    const socket = typeof message === 'object' && message !== null && 'socket' in message ? message.socket : undefined
    if (socket instanceof Socket)
      socket.on('connectionAttempt', (address: string, port: number) => made.push(`${address} ${port}`))
  }
  subscribe('net.client.socket', onSocket)
  return { made, stop: () => void unsubscribe('net.client.socket', onSocket) }
}
