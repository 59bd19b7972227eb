import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openDecisionWorld, withReads, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { grant, registerTestClient, startAuthApi, type AuthApi, type TestClient } from './auth-api.ts'

/** In production, where an address with one refusal a minute has to wait after the second. */
let world: DecisionWorld
let api: AuthApi
let client: TestClient
let reads: string[]

beforeAll(async () => {
  world = await openDecisionWorld()
  const store = withReads(world.store)
  reads = store.reads
  api = await startAuthApi(world, store.counting, { APP_ENV: 'production', RATE_LIMIT_TOKEN_FAILURES_PER_MINUTE: '1' })
  client = await registerTestClient(world)
  for (const secret of [randomUUID(), randomUUID()]) await ask(client.clientId, secret)
})
beforeEach(() => reads.splice(0))
afterAll(async () => {
  await api.close()
  await world.close()
})

async function ask(clientId: string, secret: string): Promise<number> {
  return (await api.post('token', { ...grant, client_id: clientId, client_secret: secret })).status
}

test('the same wrong credentials are refused from memory while the address has to wait', async () => {
  for (const clientId of [client.clientId, randomUUID()]) {
    const secret = randomUUID()
    const statuses = [await ask(clientId, secret), await ask(clientId, secret), await ask(clientId, secret)]
    expect(statuses).toEqual([429, 429, 429])
    expect(reads.splice(0)).toEqual([`oauth_client-${clientId}`])
  }
})

test('right credentials pass, and other wrong ones are looked up', async () => {
  expect(await ask(client.clientId, client.secret)).toBe(200)
  const before = reads.length
  expect(await ask(client.clientId, randomUUID())).toBe(429)
  expect(reads).toHaveLength(before + 1)
})
