import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { metricsType, type Metrics } from './metrics.ts'

export interface MetricsListener {
  readonly port: number
  close(): Promise<void>
}

/** Time limit of a request, in milliseconds. */
const requestTimeoutMs = 10_000
const mostConnections = 100

/** Serves `/metrics` on a port of its own, for a network that only Prometheus reaches. Everything else is 404. */
export async function listenForMetrics(
  metrics: Pick<Metrics, 'text'>,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<MetricsListener> {
  const server = createServer(
    { requestTimeout: requestTimeoutMs, headersTimeout: requestTimeoutMs },
    (request, response) => {
      const { pathname } = URL.parse(request.url ?? '', 'http://metrics') ?? {}
      if (pathname !== '/metrics' || (request.method !== 'GET' && request.method !== 'HEAD')) {
        response.writeHead(404).end()
        return
      }
      metrics.text().then(
        (text) => response.writeHead(200, { 'content-type': metricsType }).end(text),
        () => response.writeHead(500).end(),
      )
    },
  )
  server.maxConnections = mostConnections
  await listening(server, host, port)
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}
