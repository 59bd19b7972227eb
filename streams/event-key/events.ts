import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Instant } from '../../engine/aggregates/types.ts'

export const eventKeyEvents = {
  /** The operator gave events another key to be signed with. A minute later, what an older key signs does not count. */
  EventKeyRotated: defineEvent(
    'EventKeyRotated',
    // `rotatedBy` is the user of the operating system who ran the command.
    Type.Object({ key: Type.String(), rotatedBy: Type.String(), rotatedAt: Instant }),
  ),
} as const

export type EventKeyEvent = EventOf<typeof eventKeyEvents>
