import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DurableLines } from '../../../tools/torture/acknowledged.ts'
import { PatientClient } from '../../../tools/torture/outside/api.ts'

/** Works with a client of an API that answers so. */
async function withClient(answer: RequestListener, work: (client: PatientClient) => Promise<void>): Promise<void> {
  const server = createServer(answer)
  const folder = await mkdtemp(join(tmpdir(), 'api-'))
  const log = new DurableLines(join(folder, 'acknowledged'))
  try {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const client = new PatientClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, log)
    await client.logIn({ client_id: 'user', client_secret: 'secret' })
    await work(client)
  } finally {
    log.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(folder, { recursive: true })
  }
}

it('counts the 410 of a task apart from that of anything else', () =>
  withClient(
    (request, response) =>
      request.url?.endsWith('/token') === true
        ? response.end(JSON.stringify({ access_token: 'token', expires_in: 60 }))
        : response.writeHead(410, { 'content-type': 'application/json' }).end('{"code":"subject-erased"}'),
    async (client) => {
      await client.ask('/v1/human-review/tasks/1/claim')
      await client.ask('/v1/patients/1')

      expect(client.summary().answers).toEqual({ '410 subject-erased of a task': 1, '410 subject-erased': 1 })
    },
  ))

it('uses a new token before the old one ends, and keeps the old one while the token endpoint is down', async () => {
  const tokens = [200, 503, 200]
  const used: string[] = []
  let given = 0
  await withClient(
    (request, response) => {
      if (request.url?.endsWith('/token') === true) {
        given += 1
        const status = tokens.shift() ?? 500
        return void response
          .writeHead(status)
          .end(JSON.stringify(status === 200 ? { access_token: `token ${given}`, expires_in: 0 } : {}))
      }
      used.push(String(request.headers.authorization))
      response.end('{}')
    },
    async (client) => {
      await client.ask('/v1/patients')
      await client.ask('/v1/patients')

      expect(used).toEqual(['Bearer token 1', 'Bearer token 3'])
    },
  )
})
