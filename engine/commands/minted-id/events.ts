import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../store/schema.ts'
import { Id, Instant } from '../../aggregates/types.ts'

export const mintedIdEvents = {
  /** Comes before the record that gets the id. It does not record whether the record was created. */
  IdMinted: defineEvent('IdMinted', Type.Object({ id: Id, mintedAt: Instant })),
} as const

export type MintedIdEvent = EventOf<typeof mintedIdEvents>
