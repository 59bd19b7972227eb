import { createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openBytes, sealBytes } from '../../platform/kit/sealed-bytes.ts'

/** A stand-in for the transit engine of HashiCorp Vault and OpenBao: `decrypt` and `datakey/wrapped` of one key. */
export interface TransitStandIn {
  /** Address of the engine. */
  readonly url: string
  readonly token: string
  readonly calls: string[]
  stop(): Promise<void>
}

const mount = '/v1/transit'

export async function startTransit(keyName: string): Promise<TransitStandIn> {
  const token = `s.${randomBytes(12).toString('hex')}`
  const key = createSecretKey(randomBytes(32))
  const calls: string[] = []
  const server = createServer((request, response) => {
    void answerOf(request, { token, key, keyName, calls }).then(({ status, body }) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${mount}`,
    token,
    calls,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

interface Engine {
  readonly token: string
  readonly key: KeyObject
  readonly keyName: string
  readonly calls: string[]
}

async function answerOf(request: IncomingMessage, { token, key, keyName, calls }: Engine) {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  const { url = '', method = '' } = request
  calls.push(`${method} ${url}`)
  if (request.headers['x-vault-token'] !== token) return refusal(403, 'permission denied')
  const given: unknown = JSON.parse(text)
  const wrap = (secret: Buffer) => `vault:v1:${sealBytes(key, keyName, secret).toString('base64')}`
  if (method !== 'POST') return refusal(405, 'unsupported operation')
  if (url === `${mount}/datakey/wrapped/${keyName}`)
    return { status: 200, body: { data: { ciphertext: wrap(randomBytes(32)), key_version: 1 } } }
  if (url === `${mount}/decrypt/${keyName}`) {
    const { ciphertext = '' } = given as { readonly ciphertext?: string }
    try {
      const opened = openBytes(key, keyName, Buffer.from(ciphertext.slice('vault:v1:'.length), 'base64'))
      return { status: 200, body: { data: { plaintext: opened.toString('base64') } } }
    } catch {
      return refusal(400, 'cipher: message authentication failed')
    }
  }
  return url.startsWith(`${mount}/`) ? refusal(400, 'encryption key not found') : refusal(404, 'no handler for route')
}

function refusal(status: number, message: string) {
  return { status, body: { errors: [message] } }
}
