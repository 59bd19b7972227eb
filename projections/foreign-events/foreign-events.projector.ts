import { RejectionReason, type ForeignEvent } from '../../streams/foreign-event/events.ts'
import { defineProjector, defineTable } from '../../engine/projections/projector.ts'
import { insertRow } from '../../engine/projections/row-changes.ts'

/** Events of foreign channels that were skipped. Operators list them. */
export const rejectedForeignEventsTable = defineTable({
  name: 'rejected_foreign_events',
  columns: {
    foreign_event_id: 'uuid',
    channel: 'text',
    channel_revision: 'bigint',
    event_id: 'uuid',
    event_type: 'text',
    reason: { type: 'text', values: RejectionReason.enum },
    pointer: { type: 'text', nullable: true },
    published_at: 'timestamptz',
    stream_revision: 'bigint',
  },
  primaryKey: ['foreign_event_id'],
  indexes: [{ columns: ['published_at', 'foreign_event_id'] }],
})

export const foreignEventsProjector = defineProjector<ForeignEvent>()({
  name: 'foreign_events',
  version: 1,
  tables: [rejectedForeignEventsTable],
  handlers: {
    ForeignEventReceived: () => [],
    ForeignEventRejected: ({ data, revision }) => [
      insertRow(rejectedForeignEventsTable, { ...data, streamRevision: revision }),
    ],
  },
})
