import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ReceivedWebhook {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A webhook receiver on loopback, as a product may run it. */
export interface WebhookReceiver {
  readonly url: string
  readonly received: readonly ReceivedWebhook[]
  close(): Promise<void>
}

/** @param answer the status of each answer; the default 204 accepts every delivery */
export async function startWebhookReceiver(
  answer: (webhook: ReceivedWebhook) => number = () => 204,
): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      const webhook = { headers, body: Buffer.concat(chunks).toString('utf8') }
      received.push(webhook)
      response.writeHead(answer(webhook)).end()
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
