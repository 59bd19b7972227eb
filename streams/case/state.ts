import type { Fold } from '../store/events.ts'
import type { CaseEvent } from './events.ts'
import { category } from './stream.ts'

export type CaseState = { readonly status: 'absent' } | ({ readonly status: 'open' } & CaseEvent['data'])

export type OpenCase = Extract<CaseState, { status: 'open' }>

function evolve(_: CaseState, event: CaseEvent): CaseState {
  return { status: 'open', ...event.data }
}

export const caseFold: Fold<CaseState, CaseEvent> = { category, initialState: { status: 'absent' }, evolve }
