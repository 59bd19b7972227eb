import { describe, expect, it } from 'vitest'
import type { Channel, ChannelOutput } from '../../../engine/relay/channel.ts'
import { createRelay } from '../../../engine/relay/relay.ts'
import { embeddedEventStore } from 'embedded-eventstore/testing'
import { eventually } from '../../support/eventually.ts'
import { opened, openTicketStore, say, silentLogger } from '../projections/tickets.ts'

const publicEvent = (type: string, ticketId: string): ChannelOutput => ({
  type,
  occurredAt: '2026-03-01T10:00:00.000Z',
  schemaVersion: 1,
  data: { ticketId },
})

/** An opening is two public events. */
const channel: Channel<undefined> = {
  stream: 'ticket.events',
  sources: ['ticket-'],
  organisationMember: 'org_id',
  translate: {
    TicketOpened: ({ data }) => {
      const { ticketId } = data as { ticketId: string }
      return [publicEvent('ticket.opened', ticketId), publicEvent('ticket.audited', ticketId)]
    },
  },
}

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
