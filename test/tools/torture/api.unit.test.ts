import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { DurableLines } from '../../../tools/torture/acknowledged.ts'
import { PatientClient } from '../../../tools/torture/outside/api.ts'

it('uses a new token before the old one ends, and keeps the old one while the token endpoint is down', async () => {
  const tokens = [200, 503, 200]
  const used: string[] = []
  let given = 0
  const server = createServer((request, response) => {
    if (request.url?.endsWith('/token') === true) {
      given += 1
      const status = tokens.shift() ?? 500
      return void response
        .writeHead(status)
        .end(JSON.stringify(status === 200 ? { access_token: `token ${given}`, expires_in: 0 } : {}))
    }
    used.push(String(request.headers.authorization))
    response.end('{}')
  })
  const folder = await mkdtemp(join(tmpdir(), 'api-'))
  const log = new DurableLines(join(folder, 'acknowledged'))
  try {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const client = new PatientClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, log)
    await client.logIn({ client_id: 'user', client_secret: 'secret' })

    await client.ask('/v1/patients')
    await client.ask('/v1/patients')

    expect(used).toEqual(['Bearer token 1', 'Bearer token 3'])
  } finally {
    log.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(folder, { recursive: true })
  }
})
