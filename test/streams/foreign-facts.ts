import { foreignEventId, foreignEvents } from '../../streams/foreign-event/aggregate.ts'
import type { ForeignEvent } from '../../streams/foreign-event/events.ts'
import { at, factsOf, ids } from './facts.ts'

export const foreignChannel = 'clinic.events'
export const foreignRecord = foreignEventId(foreignChannel, ids.event)

/** The request event of specification 4.5, as another service publishes it: no envelope, no patient. */
export const foreignRequest = {
  caseId: ids.case,
  productId: ids.product,
  orgId: ids.org,
  correlationId: 'clinic-17',
  requestedAt: at(0),
  images: [
    {
      imageId: ids.image,
      imageType: 'DERMOSCOPIC',
      presignedUrl: 'https://images.clinic.test/1?signature=canary',
      presignedUrlExpiresAt: at(3600),
      deviceManufacturer: 'Acme',
      deviceModel: 'Scope 3',
    },
  ],
}

const place = {
  foreignEventId: foreignRecord,
  channel: foreignChannel,
  channelRevision: '7',
  eventId: ids.event,
  eventType: 'ai_review.requested',
  publishedAt: at(1),
  receivedAt: at(2),
}

export const foreignFact = factsOf<ForeignEvent>({
  ForeignEventReceived: {
    ...place,
    orgId: ids.org,
    organisationIds: [ids.org],
    phiSubject: foreignRecord,
    data: JSON.stringify(foreignRequest),
  },
  ForeignEventRejected: { ...place, reason: 'malformed', pointer: '/images/0/imageType' },
})

/** A fact in the stream of its foreign event. */
export const ofForeignEvent = (event: ForeignEvent) => ({
  ...event,
  stream: foreignEvents.of(event.data.foreignEventId).stream,
})
