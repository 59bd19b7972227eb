import type { CategoryDefinition } from '../../engine/store/catalogue.ts'
import type { Fold, Target } from '../../engine/store/events.ts'
import { operationsEvents, type OperationsEvent } from './events.ts'

/** Nothing is decided by it. */
type OperationsState = null

/** One installation has one stream. It never ends, so a load reads back to the newest event only. */
export const operations = {
  category: 'operations',
  events: operationsEvents,
  initialState: null,
  wholeState: 'OperatorActionRecorded',
  evolve: () => null,
} satisfies CategoryDefinition & Fold<OperationsState, OperationsEvent>

export const operationsStream: Target<OperationsState, OperationsEvent> = {
  fold: operations,
  stream: operations.category,
}
