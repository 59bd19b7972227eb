import type { ConsentEvent } from '../../streams/consent/events.ts'
import { consentChannel } from '../../streams/channels/consent.ts'
import { consents } from '../../streams/consent/aggregate.ts'
import type { ChannelDefinition } from '../relay/channel.ts'

/** Every recorded decision, once and in order per patient (specification section 6). */
export const consentEventsChannel: ChannelDefinition<unknown> = {
  stream: consentChannel,
  sources: [`${consents.category}-`],
  organisationMember: 'org_id',
  translate: {
    ConsentRecorded: (event) => {
      const data = event.data as ConsentEvent['data']
      const type = `consent.${data.decision}`
      return [
        {
          type,
          occurredAt: data.createdAt,
          data: {
            type,
            patient_id: data.patientId,
            org_id: data.organisationId,
            consent_type_code: data.consentTypeCode,
            timestamp: data.recordedAt,
          },
        },
      ]
    },
  },
}
