import { defineAggregate } from '../../engine/aggregates/aggregate.ts'
import { accessMonthEvents, type AccessMonthEvent } from './events.ts'

export type AccessMonthState = { readonly status: 'absent' } | { readonly status: 'ended' }

/** A month of the access log, `yyyy-mm` in UTC. */
export const accessMonths = defineAggregate({
  category: 'access_month',
  id: (month: string) => month,
  events: accessMonthEvents,
  initialState: { status: 'absent' },
  evolve: (_: AccessMonthState, _event: AccessMonthEvent): AccessMonthState => ({ status: 'ended' }),
})
