import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client'
import { expect, test } from 'vitest'
import { Follower, readWholeLog } from '../../../tools/torture/stage/log-reader.ts'
import { hostedEventStore } from 'embedded-eventstore/testing'

test('the log is read and followed at an address that begins with kurrentdb', async () => {
  const node = await hostedEventStore()
  const writer = EventStoreDBClient.connectionString(node.url)
  const address = node.url.replace('esdb:', 'kurrentdb:')
  const follower = new Follower(address)
  try {
    await writer.appendToStream('visit-1', jsonEvent({ type: 'Noted', data: {} }))
    expect((await readWholeLog(address, 'forwards')).map(({ type }) => type)).toEqual(['Noted'])
    expect((await follower.caughtUp(1)).map(({ type }) => type)).toEqual(['Noted'])
  } finally {
    await follower.close()
    await writer.dispose()
    await node.stop()
  }
})
