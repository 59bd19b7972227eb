import { EventStoreDBClient } from '@eventstore/db-client'
import { ServerFeaturesClient } from '@eventstore/db-client/generated/serverfeatures_grpc_pb.js'
import type { SupportedMethods } from '@eventstore/db-client/generated/serverfeatures_pb.js'
import shared from '@eventstore/db-client/generated/shared_pb.js'
import { credentials } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { contractStore, counted, revisions } from './contract-store.ts'

const { client, store, stream, append } = contractStore()

test('esdb+discover finds the node by gossip', async () => {
  const name = stream()
  await append(name, 2)
  const discovering = EventStoreDBClient.connectionString(store().url.replace('esdb://', 'esdb+discover://'))
  expect(await revisions(discovering.readStream(name))).toEqual([0, 1])
  expect((await discovering.appendToStream(name, counted(2))).nextExpectedRevision).toBe(2n)
  await discovering.dispose()
})

test('the server reports its version and its support of batch appends', async () => {
  const features = new ServerFeaturesClient(
    new URL(store().url.replace('esdb:', 'http:')).host,
    credentials.createInsecure(),
  )
  const answer = await new Promise<SupportedMethods>((resolve, reject) => {
    features.getSupportedMethods(new shared.Empty(), (error, methods) =>
      error === null ? resolve(methods) : reject(error),
    )
  })
  features.close()
  expect(answer.getEventStoreServerVersion()).toMatch(/^2\d\.\d+\.\d+$/)
  const batch = answer.getMethodsList().find((method) => method.getMethodName() === 'batchappend')
  expect(batch?.getServiceName()).toBe('event_store.client.streams.streams')
  expect(batch?.getFeaturesList()).toEqual(['deadline_duration'])
})

test('an append whose deadline is over on arrival times out and writes nothing', async () => {
  const name = stream()
  await expect(client().appendToStream(name, counted(0), { deadline: -60_000 })).rejects.toMatchObject({
    type: 'deadline-exceeded',
  })
  await append(name, 1, { expectedRevision: 'no_stream' })
  expect(await revisions(client().readStream(name))).toEqual([0])
})

test('serves many clients at once', async () => {
  const clients = Array.from({ length: 8 }, () => EventStoreDBClient.connectionString(store().url))
  const names = clients.map(() => stream())
  await Promise.all(
    clients.map((each, index) =>
      each.appendToStream(names[index] ?? '', [counted(0), counted(1)], { expectedRevision: 'no_stream' }),
    ),
  )
  const read = await Promise.all(clients.map((each, index) => revisions(each.readStream(names.at(index - 1) ?? ''))))
  expect(read).toEqual(clients.map(() => [0, 1]))
  await Promise.all(clients.map((each) => each.dispose()))
})
