import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that wait for the answer to an earlier one. A connection with more of them is closed. */
export const mostPipelined = 100

/**
 * Handles the requests of a connection one after another, each in a turn of its own. Node.js would start all requests
 * that arrive in one piece at once, hundreds of them, and nobody else would have a turn meanwhile. The answers have the
 * order of the requests anyway (RFC 9112, 9.3.2).
 */
export function oneAtATime(handle: RequestListener): RequestListener {
  const waitingOf = new WeakMap<Socket, Array<() => void>>()

  return (request, response) => {
    const { socket } = request
    const waiting = waitingOf.get(socket)
    if (waiting === undefined) {
      waitingOf.set(socket, [])
      start(request, response)
    } else if (waiting.length < mostPipelined) {
      waiting.push(() => start(request, response))
    } else {
      socket.destroy()
    }
  }

  function start(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    response.once('close', () => setImmediate(startNext, socket))
    handle(request, response)
  }

  function startNext(socket: Socket): void {
    const next = socket.destroyed ? undefined : waitingOf.get(socket)?.shift()
    if (next === undefined) waitingOf.delete(socket)
    else next()
  }
}
