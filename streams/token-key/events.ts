import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Instant } from '../../engine/aggregates/types.ts'

export const tokenKeyEvents = {
  /** The operator ended a key that signs access tokens. From then on no token counts that it has signed. */
  TokenKeyEnded: defineEvent(
    'TokenKeyEnded',
    // `endedBy` is the user of the operating system who ran the command.
    Type.Object({ kid: Type.String(), endedBy: Type.String(), endedAt: Instant }),
  ),
} as const

export type TokenKeyEvent = EventOf<typeof tokenKeyEvents>
