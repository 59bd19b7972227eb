import { defineAggregate } from '../../engine/aggregates/aggregate.ts'
import { eventKeyEvents, type EventKeyEvent } from './events.ts'

export interface EventKeyState {
  readonly isRotated: boolean
}

function evolve(_: EventKeyState, event: EventKeyEvent): EventKeyState {
  switch (event.type) {
    case 'EventKeyRotated':
      return { isRotated: true }
  }
}

/** The keys that sign events, but the first one, by the id that events have in `key`. */
export const eventKeys = defineAggregate({
  category: 'event_key',
  id: (key: string) => key,
  events: eventKeyEvents,
  initialState: { isRotated: false },
  evolve,
})
