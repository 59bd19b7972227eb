import type { IncomingMessage } from 'node:http'
import { problem } from './problems.ts'

/**
 * Node.js keeps the first of several values and drops the others. A proxy that keeps the last one sees another request.
 */
const singleHeaders: ReadonlySet<string> = new Set(['host', 'authorization', 'content-type'])

/**
 * Refuses an ambiguous head: a repeated header that must be single, HTTP/1.1 without Host (RFC 9112, 3.2), or a body in
 * another transfer coding than `chunked`. Node.js would pass on a body that is still compressed (RFC 9112, 6.1).
 * @throws Problem `malformed-request`, `transfer-coding-unsupported`
 */
export function requireClearHead({
  rawHeaders,
  httpVersion,
  headers,
}: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion' | 'headers'>): void {
  if (httpVersion === '1.1' && headers.host === undefined)
    throw problem('malformed-request', { detail: 'The header Host is missing.' })
  if ((headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked')
    throw problem('transfer-coding-unsupported')
  const seen = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    if (!singleHeaders.has(name)) continue
    if (seen.has(name)) throw problem('malformed-request', { detail: `The request contains the header ${name} twice.` })
    seen.add(name)
  }
}
