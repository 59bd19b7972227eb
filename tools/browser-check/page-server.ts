import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import type { PageResult, PageTask } from './page.ts'

export interface PageServer extends AsyncDisposable {
  readonly origin: string
  /** What the page has sent. */
  readonly result: Promise<PageResult>
  /** The page may be loaded now. */
  serve(task: PageTask, token: () => Promise<string>): void
}

const photo = fileURLToPath(new URL('../../embedded/photos/lesion-1.jpg', import.meta.url))

/** The script of the page and the client, as one file that a browser runs. */
export async function pageScript(): Promise<string> {
  const input = fileURLToPath(new URL('page.ts', import.meta.url))
  const bundle = await rolldown({ input, platform: 'browser' })
  try {
    const { output } = await bundle.generate({ format: 'esm' })
    return output[0].code
  } finally {
    await bundle.close()
  }
}

/** The server of a web application: its page, and the tokens for it. */
export async function startPageServer(script: string): Promise<PageServer> {
  const result = Promise.withResolvers<PageResult>()
  let task: PageTask | undefined
  let tokenFor = async () => ''
  const contents: Readonly<
    Record<string, (request: IncomingMessage) => Promise<[type: string, body: string | Buffer]>>
  > = {
    'GET /': async () => [
      'text/html',
      '<!doctype html><title>check</title><script type="module" src="/page.js"></script>',
    ],
    'GET /page.js': async () => ['text/javascript', script],
    'GET /task': async () => ['application/json', JSON.stringify(task)],
    'GET /token': async () => ['text/plain', await tokenFor()],
    'GET /photo.jpg': async () => ['image/jpeg', await readFile(photo)],
    'POST /result': async (request) => {
      result.resolve(JSON.parse(await text(request)))
      return ['text/plain', '']
    },
  }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const content = contents[`${request.method} ${request.url}`]
    if (content === undefined) return response.writeHead(404).end()
    const [type, body] = await content(request)
    return response.writeHead(200, { 'content-type': type }).end(body)
  }
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    result: result.promise,
    serve(given, token) {
      task = given
      tokenFor = token
    },
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
