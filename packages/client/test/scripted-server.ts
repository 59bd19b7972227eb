import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: string
}

/** Answers one request. */
export type Reply = (response: ServerResponse, request: Received) => void

export interface ScriptedServer extends AsyncDisposable {
  readonly url: string
  /** Without the requests of tokens. */
  readonly received: readonly Received[]
  readonly tokens: readonly Received[]
}

export const json =
  (status: number, body: object, headers: Readonly<Record<string, string>> = {}): Reply =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))

export const text =
  (status: number, body: string, headers: Readonly<Record<string, string>> = {}): Reply =>
  (response) =>
    void response.writeHead(status, { 'content-type': 'text/html', ...headers }).end(body)

export const problem = (status: number, code: string, retriable: boolean, headers = {}): Reply =>
  json(status, { type: `https://example.org/problems/${code}`, code, status, detail: 'D', retriable }, headers)

/** The connection ends in the middle of the answer. */
export const cut: Reply = (response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' }).write('{"half":', () => {
    response.destroy()
  })
}

/**
 * A server on loopback that answers each request with the next reply. The last one answers all further requests.
 * @param token the reply of the token endpoint
 */
export async function scriptedServer(
  replies: readonly Reply[],
  token: Reply = json(200, { access_token: 't', expires_in: 3_600 }),
): Promise<ScriptedServer> {
  const received: Received[] = []
  const tokens: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url = '' } = request
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      const noted = { method, url, headers, body: Buffer.concat(chunks).toString('utf8') }
      const isToken = url === '/v1/auth/oauth/token'
      ;(isToken ? tokens : received).push(noted)
      const reply = isToken ? token : (replies[received.length - 1] ?? replies.at(-1))
      reply?.(response, noted)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    tokens,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
