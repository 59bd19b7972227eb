import { Type } from 'typebox'
import { defineEvent, type EventOf } from '../../store/schema.ts'
import { Fingerprint, Id, Instant } from '../../aggregates/types.ts'

export const reservationEvents = {
  /** Comes before the owner's own append. Contains the owner's new id and, with an Idempotency-Key, its fingerprint. */
  ReservationClaimed: defineEvent(
    'ReservationClaimed',
    Type.Object({ claimId: Id, ownerStream: Type.String(), ownerId: Id, fingerprint: Fingerprint, claimedAt: Instant }),
  ),
  ReservationConfirmed: defineEvent('ReservationConfirmed', Type.Object({ claimId: Id, confirmedAt: Instant })),
  ReservationReleased: defineEvent('ReservationReleased', Type.Object({ claimId: Id, releasedAt: Instant })),
} as const

export type ReservationEvent = EventOf<typeof reservationEvents>
