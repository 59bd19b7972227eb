import type { ServerResponse } from 'node:http'

/** Longest time without a byte of the rest of a request, after its answer. */
const silentMs = 5_000
/** Longest time for the rest of a request, after its answer. */
const lingerMs = 20_000

/**
 * Called before each answer. If its request has not arrived to the end, the connection closes after the answer, but not
 * at once: that would reset it, and a sender that still sends would not read the answer. The rest is read and dropped,
 * for a limited time (RFC 9112, 9.6).
 */
export function closeGently(response: ServerResponse): void {
  const request = response.req
  if (hasArrived(request)) return
  const { socket } = request
  response.setHeader('connection', 'close')
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

/** Injected requests have no such state. */
function hasArrived({ complete = true }: { readonly complete?: boolean }): boolean {
  return complete
}
