import { v5 } from 'uuid'
import { defineAggregate } from '../../engine/aggregates/aggregate.ts'
import { foreignEventEvents, type ForeignEvent } from './events.ts'

type Received = Extract<ForeignEvent, { type: 'ForeignEventReceived' }>['data']
type Rejected = Extract<ForeignEvent, { type: 'ForeignEventRejected' }>['data']

export type ForeignEventState =
  | { readonly status: 'absent' }
  | (Received & { readonly status: 'received' })
  | (Rejected & { readonly status: 'rejected' })

/** One stream per event of a foreign channel. Its name follows from that event, so a second record is impossible. */
export const foreignEvents = defineAggregate({
  category: 'foreign_event',
  id: (foreignEventId: string) => foreignEventId,
  events: foreignEventEvents,
  initialState: { status: 'absent' },
  evolve: (_state: ForeignEventState, event: ForeignEvent): ForeignEventState =>
    event.type === 'ForeignEventReceived'
      ? { ...event.data, status: 'received' }
      : { ...event.data, status: 'rejected' },
})

/** Name space of foreign channels. Never change it: the ids of all records follow from it. */
const foreignChannels = 'b0a6f3d4-6c1e-5a0b-9a53-7d0f5f8f2c61'

export function foreignChannelId(channel: string): string {
  return v5(channel, foreignChannels)
}

export function foreignEventId(channel: string, eventId: string): string {
  return v5(eventId, foreignChannelId(channel))
}
