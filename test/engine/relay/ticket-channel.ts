import type { Channel, ChannelOutput } from '../../../engine/relay/channel.ts'

export const occurredAt = '2026-03-01T10:00:00.000Z'

export function publicEvent(type: string, ticketId: string): ChannelOutput {
  return { type, occurredAt, schemaVersion: 1, data: { ticketId } }
}

/** An opening is two public events, anything else none. */
export const channel: Channel<undefined> = {
  stream: 'ticket.events',
  sources: ['ticket-'],
  organisationMember: 'org_id',
  translate: {
    TicketOpened: ({ data }) => {
      const { ticketId } = data as { ticketId: string }
      return [publicEvent('ticket.opened', ticketId), publicEvent('ticket.audited', ticketId)]
    },
    TicketClosed: () => [],
  },
}
