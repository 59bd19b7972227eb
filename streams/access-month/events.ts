import { Type } from 'typebox'
import { Instant } from '../../engine/aggregates/types.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'

export const accessMonthEvents = {
  /** The retention of a month is over, in every organisation: no row of it stays, and its keys are destroyed afterwards. */
  AccessMonthEnded: defineEvent(
    'AccessMonthEnded',
    Type.Object({ month: Type.String({ pattern: '^\\d{4}-(0[1-9]|1[0-2])$' }), endedAt: Instant }),
  ),
} as const

export type AccessMonthEvent = EventOf<typeof accessMonthEvents>
