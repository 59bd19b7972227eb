import { Type } from 'typebox'
import { Id, Instant, Nullable } from '../../engine/aggregates/types.ts'
import { defineChannelStream, publicData } from '../../engine/aggregates/channel-stream.ts'
import { defineEvent, type EventOf } from '../../engine/store/schema.ts'

/** Stream of the public audit events. They contain ids, and nothing of what was seen. */
export const auditChannelStream = defineChannelStream({
  name: 'audit.events',
  organisationMember: 'org_id',
  events: {
    emergencyAccess: defineEvent(
      'audit.emergency_access',
      publicData({
        /** Absent if the request of a platform client named no organisation. */
        org_id: Type.Optional(Id),
        access_id: Id,
        client_id: Nullable(Type.String()),
        user_id: Nullable(Type.String()),
        patient_ids: Type.Array(Id),
        subject_user_id: Nullable(Id),
        /** `operationId` of the route. */
        operation: Type.String(),
        at: Instant,
      }),
    ),
  },
})

export type AuditChannelEvent = EventOf<typeof auditChannelStream.events>
