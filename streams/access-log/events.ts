import { Type } from 'typebox'
import { Id, Instant, Nullable, OrgId } from '../../engine/aggregates/types.ts'
import { defineEvent, Phi, type EventOf } from '../../engine/store/schema.ts'
import { purposesOfUse } from '../../platform/kit/personal-content.ts'
import { PersonalCategory } from '../types.ts'

export const PurposeOfUse = Type.Enum([...purposesOfUse])

export const accessLogEvents = {
  /** An answer with personal content leaves. Recorded before it leaves. */
  AccessRecorded: defineEvent(
    'AccessRecorded',
    Type.Object({
      accessId: Id,
      organisationId: OrgId,
      at: Instant,
      /** Null for a command of the operator. */
      clientId: Nullable(Type.String()),
      /** The pseudonym of the actor. Null if the request named none. */
      userId: Nullable(Type.String()),
      patientIds: Type.Array(Id),
      /** The user whose contact the answer shows. */
      subjectUserId: Nullable(Id),
      categories: Type.Array(PersonalCategory),
      /** `operationId` of the route. */
      operation: Type.String(),
      purpose: Nullable(PurposeOfUse),
      requestId: Nullable(Type.String()),
      sourceAddress: Phi(Nullable(Type.String())),
      /** Names the key of the address: one for each organisation and month. */
      addressKey: Type.String(),
    }),
    { subject: 'addressKey' },
  ),
  /** The same caller saw the same within the window. `count` is the number of all answers, the first one included. */
  AccessRepeated: defineEvent(
    'AccessRepeated',
    Type.Object({ accessId: Id, count: Type.Integer({ minimum: 2 }), lastAt: Instant }),
  ),
} as const

export type AccessLogEvent = EventOf<typeof accessLogEvents>
