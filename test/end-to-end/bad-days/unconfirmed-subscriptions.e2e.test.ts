import { afterAll, beforeAll, expect, test } from 'vitest'
import { at } from '../../../app/demo/members.ts'
import { requestToken, type ApiAnswer } from '../../support/raw-api.ts'
import { PretendedCluster } from '../../../tools/torture/stage/pretended-cluster.ts'
import { hostedEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { startInProcessPlatform, type InProcessPlatform } from '../../support/in-process-platform.ts'
import { expecting, registerPatient } from '../../support/main-job.ts'

let store: TestEventStore
let cluster: PretendedCluster
let given: InProcessPlatform

beforeAll(async () => {
  store = await hostedEventStore()
  cluster = await PretendedCluster.start(Number(new URL(store.url).port))
  given = await startInProcessPlatform({ ESDB_URL: cluster.url })
})

afterAll(async () => {
  await given.close()
  await cluster.close()
  await store.stop()
})

const patient = (id: string) => given.api.call(`/v1/clinical-api/patients/${id}`)
const untilStatus = (status: number, ask: () => Promise<{ readonly status: number }>) =>
  expect.poll(async () => (await ask()).status, { timeout: 30_000 }).toBe(status)

function expectRetriable({ status, body, headers }: ApiAnswer, code: string): void {
  expect([status, at(body, 'code'), at(body, 'retriable')]).toEqual([503, code, true])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
}

test('while the event store accepts subscriptions and confirms none, every request is answered or may be repeated', async () => {
  const { platform, api } = given
  const { base_url, clients } = platform.credentials
  const ready = () => fetch(`${base_url}/health/ready`)
  const known = await registerPatient(api)
  await untilStatus(200, () => patient(known))

  const confirmAgain = cluster.begin({ kind: 'unconfirmed' })
  await expecting(200, requestToken(base_url, clients[0] ?? { client_id: '', client_secret: '' }))
  await expecting(200, patient(known))
  const written = await registerPatient(api)
  expectRetriable(await patient(written), 'read-model-behind')

  // Whether a token was revoked cannot be read any more.
  await untilStatus(503, () => patient(known))
  expectRetriable(await patient(known), 'event-store-unavailable')
  const health = await ready()
  expect([health.status, await health.text()]).toEqual([503, expect.stringContaining('ended_tokens')])

  confirmAgain()
  await untilStatus(200, () => patient(written))
  await untilStatus(200, ready)
})
