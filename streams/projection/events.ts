import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id, Instant } from '../../engine/aggregates/types.ts'

/** One number of a position. A JSON number cannot hold 64 bits. */
const LogPosition = Type.String({ pattern: '^(?:0|[1-9]\\d{0,19})$' })

export const projectionEvents = {
  /** An operator let a projector skip an event that it could not process, now and at every rebuild. */
  ProjectionEventSkipped: defineEvent(
    'ProjectionEventSkipped',
    Type.Object({
      projector: Type.String(),
      commitPosition: LogPosition,
      preparePosition: LogPosition,
      eventId: Id,
      eventType: Type.String(),
      /** Text of the operator. The command warns not to name a patient. */
      reason: Type.String({ minLength: 1, maxLength: 500 }),
      /** The operating system's user who ran the command. */
      skippedBy: Type.String({ minLength: 1, maxLength: 255 }),
      skippedAt: Instant,
    }),
  ),
} as const

export type ProjectionEvent = EventOf<typeof projectionEvents>
