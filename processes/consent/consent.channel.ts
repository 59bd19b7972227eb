import { consentChannelStream } from '../../streams/channels/consent.ts'
import { consents } from '../../streams/consent/aggregate.ts'
import { defineChannel } from '../../engine/relay/channel.ts'

/** Every recorded decision, once and in order per patient (specification section 6). */
export const consentChannel = defineChannel({
  stream: consentChannelStream,
  sources: [consents],
  translate: {
    ConsentRecorded: ({ data }, publish) => [
      publish(`consent.${data.decision}`, data.createdAt, {
        type: `consent.${data.decision}`,
        patient_id: data.patientId,
        consent_type_code: data.consentTypeCode,
        timestamp: data.recordedAt,
      }),
    ],
  },
})
