import { EventStoreDBClient } from '@eventstore/db-client'
import { officialAddress } from 'embedded-eventstore/official-address'
import { expect, test } from 'vitest'
import { readEventStoreAddress } from '../../../platform/kit/event-store-address.ts'

const rest = '://user:kurrentdb%3A%2F%2Fkdb@one.test:2113,two.test:2114?tls=false'

test.each(['esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover', 'kdb', 'kdb+discover'])(
  'the official client reads an address that begins with %s, and the platform reads the same in both forms',
  async (scheme) => {
    const converted = officialAddress(` ${scheme}${rest}`)
    await EventStoreDBClient.connectionString(converted).dispose()
    expect(readEventStoreAddress(converted)).toEqual(readEventStoreAddress(`${scheme}${rest}`))
    expect(converted).toBe(`esdb${scheme.endsWith('+discover') ? '+discover' : ''}${rest}`)
  },
)
