import { channelStreams } from '../../streams/channels/channel-streams.ts'
import { feedRowsOf } from '../../streams/channels/feed-rows.ts'
import { defineProjector, defineTable, type Handler } from '../../engine/projections/projector.ts'
import { insertRow } from '../../engine/projections/row-changes.ts'

/** The public events by reader. So an organisation with one event among many finds it without reading the channel. */
export const feedEventsTable = defineTable({
  name: 'events',
  columns: {
    channel: 'text',
    // The nil UUID: only platform clients read the row.
    org_id: 'uuid',
    stream_revision: 'bigint',
    event_id: 'uuid',
    event_type: 'text',
    payload: 'text',
    is_whole: 'boolean',
  },
  primaryKey: ['channel', 'org_id', 'stream_revision'],
  indexes: [{ columns: ['channel', 'stream_revision'] }],
})

const feed: Handler = ({ stream, revision, id, type, data }) =>
  feedRowsOf(data).map((row) =>
    insertRow(feedEventsTable, { ...row, channel: stream, streamRevision: revision, eventId: id, eventType: type }),
  )

const types = channelStreams.flatMap(({ events }) => Object.values(events).map(({ type }) => type))

export const eventFeedProjector = defineProjector()({
  name: 'event_feed',
  version: 1,
  tables: [feedEventsTable],
  handlers: Object.fromEntries(types.map((type) => [type, feed])),
})
