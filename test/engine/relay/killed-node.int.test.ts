import { describe, expect, it } from 'vitest'
import { createRelay } from '../../../engine/relay/relay.ts'
import { embeddedEventStore } from 'embedded-eventstore/testing'
import { eventually } from '../../support/eventually.ts'
import { opened, openTicketStore, say, silentLogger } from '../projections/tickets.ts'
import { channel } from './ticket-channel.ts'

describe('the relay', () => {
  it('loses nothing while its node is killed again and again', async () => {
    const own = await embeddedEventStore()
    const store = await openTicketStore(own.url)
    const relay = createRelay({ eventStore: store, channel, logger: silentLogger, deps: undefined, standbyMs: 30 })
    const published = async () => {
      const events: string[] = []
      for await (const { type, data } of store.readStream(channel.stream, { skipForeign: true }))
        events.push(`${type} ${(data as { ticketId: string }).ticketId}`)
      return events
    }
    try {
      relay.start()
      for (let round = 0; round < 3; round += 1) {
        await say(store, `ticket-${round}`, opened(String(round)))
        await own.restart()
      }
      const each = ['0', '1', '2'].flatMap((ticket) => [`ticket.opened ${ticket}`, `ticket.audited ${ticket}`])
      await eventually(async () => expect(await published()).toEqual(each))
    } finally {
      await relay.close()
      await store.close()
      await own.stop()
    }
  })
})
