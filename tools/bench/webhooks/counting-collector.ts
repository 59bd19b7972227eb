import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A collector of traces that counts spans. It parses nothing, so it takes little of the machine. */
export async function startCountingCollector() {
  let spans = 0
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      for (let at = body.indexOf('"spanId"'); at >= 0; at = body.indexOf('"spanId"', at + 1)) spans += 1
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans: () => spans,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
