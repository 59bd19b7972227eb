import { expect, it } from 'vitest'
import { foreignEventsProjector } from '../../../projections/foreign-events/foreign-events.projector.ts'
import { at, ids } from '../../streams/facts.ts'
import { foreignFact, ofForeignEvent } from '../../streams/foreign-facts.ts'
import { recorded, rowsAfter } from '../../support/given-projector.ts'

it('the read model of foreign events has the rejected ones only', async () => {
  const rejected = foreignFact('ForeignEventRejected', { foreignEventId: ids.claim })
  const events = recorded([ofForeignEvent(foreignFact('ForeignEventReceived')), ofForeignEvent(rejected)])
  expect(await rowsAfter(foreignEventsProjector, events)).toEqual({
    rejected_foreign_events: [
      {
        foreign_event_id: ids.claim,
        channel: 'clinic.events',
        channel_revision: '7',
        event_id: ids.event,
        event_type: 'ai_review.requested',
        reason: 'malformed',
        pointer: '/images/0/imageType',
        published_at: at(1),
        stream_revision: '0',
      },
    ],
  })
})
