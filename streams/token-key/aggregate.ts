import { defineAggregate } from '../../engine/aggregates/aggregate.ts'
import { tokenKeyEvents, type TokenKeyEvent } from './events.ts'

export interface TokenKeyState {
  readonly hasEnded: boolean
}

function evolve(_: TokenKeyState, event: TokenKeyEvent): TokenKeyState {
  switch (event.type) {
    case 'TokenKeyEnded':
      return { hasEnded: true }
  }
}

/** The keys that were ended before their time, by `kid`. The vault knows all others. */
export const tokenKeys = defineAggregate({
  category: 'token_key',
  id: (kid: string) => kid,
  events: tokenKeyEvents,
  initialState: { hasEnded: false },
  evolve,
})
