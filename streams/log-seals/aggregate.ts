import type { CategoryDefinition } from '../../engine/store/catalogue.ts'
import type { DataOf, Fold, Target } from '../../engine/store/events.ts'
import { logSealEvents, type LogSealEvent } from './events.ts'

/** The newest seal of the present log. Null before its first one. */
export type LogSealState = DataOf<LogSealEvent, 'LogSealed'> | null

/** There is one log, so there is one stream. It is no part of the log that it seals. */
export const logSeals = {
  category: 'log_seals',
  events: logSealEvents,
  initialState: null,
  // Seals never end, so a load reads back to the newest one only.
  wholeState: 'LogSealed',
  evolve(state, event) {
    switch (event.type) {
      case 'LogSealed':
        return event.data
      case 'OlderLogAccepted':
        return null
      case 'LogCosigned':
      case 'SealKeyRotated':
      case 'SealKeysEnded':
        return state
    }
  },
} satisfies CategoryDefinition & Fold<LogSealState, LogSealEvent>

export const logSealStream: Target<LogSealState, LogSealEvent> = { fold: logSeals, stream: logSeals.category }
