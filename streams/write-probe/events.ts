import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Instant } from '../../engine/aggregates/types.ts'

export const writeProbeEvents = {
  /** A process tried whether the event store accepts writes again. */
  WriteProbed: defineEvent('WriteProbed', Type.Object({ probedAt: Instant })),
} as const

export type WriteProbeEvent = EventOf<typeof writeProbeEvents>
