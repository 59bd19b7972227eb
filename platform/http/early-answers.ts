import type { IncomingMessage } from 'node:http'

/** Longest time without a byte of the rest of a request, after its answer. */
const silentMs = 5_000
/** Longest time for the rest of a request, after its answer. */
const lingerMs = 20_000

/** Whether a request is here to the end of its body. Injected requests have no such state. */
export function hasArrived({ complete = true }: { readonly complete?: boolean }): boolean {
  return complete
}

/**
 * Prepares the connection of a request that is answered before its end. Closing it at once would reset it, and a
 * sender that still sends would not read the answer. The rest is read and dropped, for a limited time (RFC 9112, 9.6).
 */
export function closeGently(request: IncomingMessage): void {
  const { socket } = request
  // Node.js calls this when the answer is written.
  socket.destroySoon = () => {
    const timer = setTimeout(() => socket.destroy(), lingerMs)
    socket.once('close', () => clearTimeout(timer))
    socket.setTimeout(silentMs, () => socket.destroy())
    socket.end()
    request.once('end', () => socket.destroy())
    request.resume()
  }
}
