import { createServer } from 'node:http'
import { listenOnLoopback } from '../../../embedded/children/loopback-server.ts'

/** Foreign image storage, for the presigned addresses of a supersede. */
export interface ImageHost {
  /** A new address of an image for each call. */
  address(): string
  /** An address without an image. */
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
