import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { callerOf } from '../access/authentication.ts'
import { isOperator } from '../access/identity.ts'
import { TooManyProofsError, type Accounts } from '../access/users.ts'

/** The HTTP endpoints for operators, by path. */
export type Endpoints = Record<string, { answer: () => unknown; isForOperators: boolean }>

/** Longest wait for a whole request, and for the first one of a connection. */
const LONGEST_REQUEST_MS = 10_000

/**
 * Serves GET requests with JSON. With accounts, wrong credentials are refused everywhere. Endpoints for operators refuse
 * missing ones and other accounts.
 */
export function httpEndpoints(endpoints: Endpoints, accounts: Accounts | undefined): Server {
  const limits = { headersTimeout: LONGEST_REQUEST_MS, requestTimeout: LONGEST_REQUEST_MS }
  const server = createServer({ ...limits, connectionsCheckingInterval: 1_000 }, (request, response) => {
    respond(endpoints, accounts, request, response).catch((error: unknown) => {
      process.stderr.write(
        `${JSON.stringify({ level: 'error', event: 'question-failed', path: request.url, message: String(error) })}\n`,
      )
      if (response.headersSent) response.destroy()
      else if (error instanceof TooManyProofsError)
        send(response.setHeader('retry-after', '5'), 503, { error: 'too busy' })
      else send(response, 500, { error: 'internal error' })
    })
  })
  // It gets its connections from the listener. Node.js checks the limits only of a server that has begun to listen.
  server.emit('listening')
  return server
}

async function respond(
  endpoints: Endpoints,
  accounts: Accounts | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  // The target is no address: `//` is a path of its own, and no URL.
  const path = (request.url ?? '/').replace(/\?.*/s, '')
  const endpoint = Object.hasOwn(endpoints, path) ? endpoints[path] : undefined
  if (endpoint === undefined) return send(response, 404, { error: 'not found', paths: Object.keys(endpoints) })
  if (request.method !== 'GET' && request.method !== 'HEAD')
    return send(response.setHeader('allow', 'GET, HEAD'), 405, { error: 'method not allowed' })
  const caller = accounts === undefined ? undefined : await callerOf(accounts, request.headers.authorization)
  if (accounts !== undefined) {
    const { isForOperators } = endpoint
    if (caller === undefined || (isForOperators && caller.kind === 'anonymous'))
      return send(response.setHeader('www-authenticate', 'X-Basic realm="ESDB"'), 401, { error: 'unauthenticated' })
    if (isForOperators && !isOperator(caller)) return send(response, 403, { error: 'forbidden' })
  }
  send(response, 200, endpoint.answer())
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const bytes = Buffer.from(`${JSON.stringify(body, undefined, 2)}\n`)
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': bytes.length,
    'cache-control': 'no-store',
  })
  response.end(bytes)
}
