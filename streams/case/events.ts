import { Type } from 'typebox'
import { defineEvent, Phi, type EventOf } from '../store/schema.ts'
import { Fingerprint, Id, Instant, Nullable } from '../types.ts'

export const caseEvents = {
  CaseOpened: defineEvent(
    'CaseOpened',
    Type.Object({
      caseId: Id,
      organisationId: Id,
      patientId: Id,
      productId: Nullable(Id),
      /** The assessment that opened this case for itself; null for a case that a client opened. */
      assessmentId: Nullable(Id),
      externalReference: Phi(Nullable(Type.String())),
      clinicalContext: Phi(Nullable(Type.Record(Type.String(), Type.Unknown()))),
      customFields: Phi(Nullable(Type.Record(Type.String(), Type.String()))),
      openedAt: Instant,
      fingerprint: Fingerprint,
    }),
    { subject: 'patientId' },
  ),
} as const

export type CaseEvent = EventOf<typeof caseEvents>
