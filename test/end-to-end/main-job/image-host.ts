import { createServer } from 'node:http'
import { listenOnLoopback } from '../../../embedded/children/loopback-server.ts'

/** Somebody else's storage of images: what presigned addresses of a supersede lead to. */
export interface ImageHost {
  /** Where one image can be read; another address at each call. */
  address(): string
  /** Where nothing can be read. */
  readonly missing: string
  close(): Promise<void>
}

export async function startImageHost(bytes: Uint8Array): Promise<ImageHost> {
  let count = 0
  const server = createServer((request, response) => {
    const isThere = request.url?.startsWith('/photo-') === true
    response.writeHead(isThere ? 200 : 404, { 'content-type': 'image/jpeg' }).end(isThere ? bytes : '')
  })
  const url = `http://127.0.0.1:${await listenOnLoopback(server, 'image host', 0)}`
  return {
    address: () => `${url}/photo-${(count += 1)}`,
    missing: `${url}/nothing`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
