import { existsSync } from 'node:fs'
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { expect, test } from 'vitest'
import { hostedEventStore } from '../../testing/hosted-event-store.ts'

const ping = (url: string) => fetch(`${url.replace('esdb', 'http').replace('?tls=false', '')}/ping`)

test('hosted nodes are empty, apart and gone after their end', async () => {
  const [one, other] = await Promise.all([hostedEventStore(), hostedEventStore()])
  const [client, reader] = [one, other].map(({ url }) => EventStoreDBClient.connectionString(url))
  await client?.appendToStream('a', jsonEvent({ type: 'Seen', data: {} }))
  const read = async () => {
    const types: (string | undefined)[] = []
    for await (const { event } of reader?.readAll() ?? []) types.push(event?.type)
    return types
  }
  expect(await read()).toEqual([])
  await client?.dispose()
  await one.stop()
  expect(existsSync(one.dataDir)).toBe(false)
  await expect(ping(one.url)).rejects.toThrow('fetch failed')
  // The other one goes on.
  expect(await read()).toEqual([])
  await reader?.dispose()
  await other.stop()
  expect(existsSync(other.dataDir)).toBe(false)
})

test('a second end of a node is an error', async () => {
  const node = await hostedEventStore()
  await node.stop()
  await expect(node.stop()).rejects.toThrow('the server has ended before')
})
