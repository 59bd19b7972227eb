import { connect } from 'node:tls'

/** In milliseconds. */
const limitMs = 3_000

/**
 * When the certificate of a server ends. The certificate is only looked at: whether it is trusted shows at the next call.
 * Undefined if the server does not answer.
 */
export function endOfCertificate(address: string): Promise<Date | undefined> {
  const { hostname, port } = new URL(address)
  return new Promise((resolve) => {
    const host = hostname.replace(/^\[|\]$/g, '')
    const server = { host, port: port === '' ? 443 : Number(port), rejectUnauthorized: false, timeout: limitMs }
    const socket = connect({ ...server, ...(/^[\d.]+$|:/.test(host) ? {} : { servername: host }) })
    const end = (at?: Date): void => {
      socket.destroy()
      resolve(at)
    }
    socket.once('secureConnect', () => end(new Date(socket.getPeerCertificate().valid_to)))
    socket.once('timeout', () => end())
    socket.on('error', () => end())
  })
}
