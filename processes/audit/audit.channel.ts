import { defineChannel } from '../../engine/relay/channel.ts'
import { emergency } from '../../platform/kit/personal-content.ts'
import { accessLogs } from '../../streams/access-log/aggregate.ts'
import { auditChannelStream } from '../../streams/channels/audit.ts'

/** Accesses whose reader stated an emergency. Others are on no channel. */
export const auditChannel = defineChannel({
  stream: auditChannelStream,
  sources: [accessLogs],
  translate: {
    AccessRecorded: ({ data }, publish) => {
      const { accessId, clientId, userId, patientIds, subjectUserId, operation, purpose, at } = data
      if (purpose !== emergency) return []
      return [
        publish('audit.emergency_access', at, {
          access_id: accessId,
          client_id: clientId,
          user_id: userId,
          patient_ids: patientIds,
          subject_user_id: subjectUserId,
          operation,
          at,
        }),
      ]
    },
  },
})
