import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'
import { Id, Instant, Nullable } from '../../engine/aggregates/types.ts'

export const aiReviewAccessEvents = {
  /** A client got the decrypted response of the provider. Recorded before the answer. */
  AiReviewRawRead: defineEvent(
    'AiReviewRawRead',
    Type.Object({
      aiReviewId: Id,
      clientId: Type.String(),
      /** The pseudonym of the actor. Null if the request named none. */
      userId: Nullable(Type.String()),
      readAt: Instant,
    }),
  ),
} as const

export type AiReviewAccessEvent = EventOf<typeof aiReviewAccessEvents>
