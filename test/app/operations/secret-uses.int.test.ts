import { randomUUID } from 'node:crypto'
import { hostedEventStore, type TestEventStore } from 'embedded-eventstore/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { recordSecretUses } from '../../../app/operations/secret-uses.ts'
import { openEventStore, type EventStore } from '../../../engine/store/event-store.ts'
import { catalogue } from '../../../streams/catalogue.ts'
import { operationsStream } from '../../../streams/operations/aggregate.ts'
import { fixedKeys } from '../../golden-events/golden-file.ts'

let node: TestEventStore
let store: EventStore
beforeAll(async () => {
  node = await hostedEventStore()
  store = await openEventStore({ url: node.url, catalogue, vault: fixedKeys })
})
afterAll(async () => {
  await store.close()
  await node.stop()
})

/** The newest count of each action that is about one of the routes, in the order of their first uses. */
async function counted(...routes: readonly string[]) {
  const actions = new Map<string, readonly unknown[]>()
  for await (const { data } of store.readStream<{
    readonly type: string
    readonly data: { readonly actionId: string; readonly subject: { readonly id: string }; readonly count: number }
  }>(operationsStream.stream))
    if (routes.includes(data.subject.id)) actions.set(data.actionId, [data.subject.id, data.count])
  return [...actions.values()]
}

it('uses that wait share an append, so none waits for the time limits of many', async () => {
  const route = `GET /v1/many/${randomUUID()}`
  const head = async () => (await store.readLast(operationsStream.stream))?.revision ?? -1n
  const before = await head()
  const record = recordSecretUses(store, () => new Date('2026-03-01T10:00:00.000Z'))
  const use = () => record({ route, correlationId: randomUUID() })
  const first = use()
  // It has begun.
  await Promise.resolve()
  await Promise.all([first, ...Array.from({ length: 49 }, use)])
  expect(await counted(route)).toEqual([[route, 50]])
  expect((await head()) - before).toBe(2n)
})

it('uses of one route within a minute are one action with their number', async () => {
  const [one, other] = [`GET /v1/one/${randomUUID()}`, `GET /v1/other/${randomUUID()}`]
  let now = new Date('2026-03-01T10:00:00.000Z')
  const record = recordSecretUses(store, () => now)
  const use = (route: string) => record({ route, correlationId: randomUUID() })
  await Promise.all([use(one), use(one), use(other), use(one)])
  now = new Date('2026-03-01T10:01:00.000Z')
  await use(one)
  expect(await counted(one, other)).toEqual([
    [one, 3],
    [other, 1],
    [one, 1],
  ])
})
