import { createSecretKey, randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import type { Pool } from '../../../platform/database/database.ts'
import { defineProjector, defineTable, insertSelect } from '../../../engine/projections/projector.ts'
import {
  insertRow,
  patchRow,
  patchRows,
  removeRow,
  removeRows,
  upsertRow,
} from '../../../engine/projections/row-changes.ts'
import { publicData } from '../../../engine/aggregates/channel-stream.ts'
import { createCatalogue } from '../../../engine/store/catalogue.ts'
import { openEventStore, type EventStore } from '../../../engine/store/event-store.ts'
import type { Appended, Fold } from '../../../engine/store/events.ts'
import { onlyEventKey, type KeyVault } from '../../../platform/kit/key-vault.ts'
import { defineEvent, type EventDefinition, type EventOf } from '../../../engine/store/schema.ts'

/** A sample aggregate, so the runtime is tested without any service. */
const ticketEvents = {
  opened: defineEvent(
    'TicketOpened',
    Type.Object({ ticketId: Type.String(), title: Type.String(), team: Type.String() }),
  ),
  renamed: defineEvent('TicketRenamed', Type.Object({ ticketId: Type.String(), title: Type.String() })),
  closed: defineEvent('TicketClosed', Type.Object({ ticketId: Type.String() })),
  watched: defineEvent('TeamWatched', Type.Object({ team: Type.String(), watcher: Type.String() })),
  unwatched: defineEvent('TeamUnwatched', Type.Object({ team: Type.String(), watcher: Type.String() })),
  teamRenamed: defineEvent('TeamRenamed', Type.Object({ team: Type.String(), to: Type.String() })),
}
export type TicketEvent = EventOf<typeof ticketEvents>

const otherCategories = [
  { category: 'noise', events: { made: defineEvent('NoiseMade', Type.Object({ n: Type.Integer() })) } },
  {
    category: 'ticket.events',
    events: {
      opened: defineEvent('ticket.opened', publicData({ ticketId: Type.String(), org_id: Type.String() })),
      audited: defineEvent('ticket.audited', publicData({ ticketId: Type.String(), org_id: Type.String() })),
    },
  },
]

export const ticketFold: Fold<number, TicketEvent> = {
  category: 'ticket',
  initialState: 0,
  evolve: (count) => count + 1,
}

export const tickets = defineTable({
  name: 'tickets',
  columns: {
    ticket_id: 'text',
    title: 'text',
    team: 'text',
    opened_at: 'timestamptz',
    stream_revision: 'bigint',
    note: { type: 'text', nullable: true },
  },
  primaryKey: ['ticket_id'],
  indexes: [{ columns: ['team'] }],
})
export const watchers = defineTable({
  name: 'watchers',
  columns: { team: 'text', watcher: 'text', tags: 'jsonb' },
  primaryKey: ['team', 'watcher'],
  indexes: [{ columns: ['tags'] }],
})
export const news = defineTable({
  name: 'news',
  columns: { key: 'text', watcher: 'text', detail: 'jsonb' },
  primaryKey: ['key'],
})

/** Uses every kind of row change. */
export const ticketBoard = defineProjector<TicketEvent>()({
  name: 'ticket_board',
  version: 1,
  tables: [tickets, watchers, news],
  handlers: {
    TicketOpened: ({ id, data, recordedAt, revision }) => [
      insertRow(tickets, {
        ticketId: data.ticketId,
        title: data.title,
        team: data.team,
        openedAt: recordedAt,
        streamRevision: revision,
      }),
      insertSelect(news, {
        from: watchers,
        where: { team: data.team, tags: { contains: ['all'] } },
        columns: {
          key: { concat: [{ column: 'watcher' }, { value: ':' }, { value: id }] },
          watcher: { column: 'watcher' },
          detail: {
            json: { ticket: { value: data.ticketId }, "watcher's": { column: 'watcher' }, tags: { column: 'tags' } },
          },
        },
      }),
    ],
    TicketRenamed: ({ data, revision }) => [
      patchRow(tickets, { ticketId: data.ticketId, title: data.title, streamRevision: revision }),
    ],
    TicketClosed: ({ data }) => [removeRow(tickets, { ticketId: data.ticketId })],
    TeamWatched: ({ data }) => [
      upsertRow(watchers, { team: data.team, watcher: data.watcher, tags: ['all', data.team] }),
    ],
    TeamUnwatched: ({ data }) => [removeRows(watchers, { team: data.team, watcher: data.watcher })],
    TeamRenamed: ({ data }) => [patchRows(tickets, { team: data.team }, { team: data.to, note: data.team })],
  },
})

/** Counts the events of each ticket. It patches nothing, so it accepts any history. */
const counts = defineTable({
  name: 'counts',
  columns: { event_id: 'uuid', ticket_id: 'text' },
  primaryKey: ['event_id'],
})
export const ticketCounts = defineProjector<TicketEvent>()({
  name: 'ticket_counts',
  version: 1,
  tables: [counts],
  handlers: {
    TicketOpened: ({ id, data }) => [insertRow(counts, { eventId: id, ticketId: data.ticketId })],
    TicketRenamed: ({ id, data }) => [insertRow(counts, { eventId: id, ticketId: data.ticketId })],
  },
})

/** Keys of a test run that stores no PHI. */
const noSubjects: KeyVault = {
  subjectKeyForWriting: () => Promise.reject(new Error('no event of these tests contains PHI')),
  subjectKeyForReading: () => Promise.reject(new Error('no event of these tests contains PHI')),
  eventKeys: async () => onlyEventKey(createSecretKey(new Uint8Array(32).fill(7))),
}

/** `newer` lists event types of a later version of the program. */
export function openTicketStore(
  url: string,
  newer: Readonly<Record<string, EventDefinition>> = {},
): Promise<EventStore> {
  const catalogue = createCatalogue([{ category: 'ticket', events: { ...ticketEvents, ...newer } }, ...otherCategories])
  return openEventStore({ url, catalogue, vault: noSubjects })
}

export const filter = { streamPrefixes: ['ticket-', 'noise-'] }

/** Appends to the end of a stream, at any revision. */
export async function say(store: EventStore, stream: string, ...events: TicketEvent[]): Promise<Appended> {
  const { revision } = await store.load({ fold: ticketFold, stream })
  return store.append({ fold: ticketFold, stream }, revision, events, {
    commandId: randomUUID(),
    correlationId: randomUUID(),
    orgId: 'org-1',
    clientId: 'client-1',
    userId: 'user-1',
  })
}

export function opened(ticketId: string, title = `title of ${ticketId}`, team = 'red'): TicketEvent {
  return { type: 'TicketOpened', data: { ticketId, title, team } }
}

export function renamed(ticketId: string, title: string): TicketEvent {
  return { type: 'TicketRenamed', data: { ticketId, title } }
}

export function closed(ticketId: string): TicketEvent {
  return { type: 'TicketClosed', data: { ticketId } }
}

/** Drops every schema of a runner, so the tests of a file can share one database. */
export async function emptyDatabase(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string }>(
    `select nspname as name from pg_namespace where nspname not in ('public', 'information_schema') and nspname not like 'pg\\_%'`,
  )
  if (rows.length > 0) await pool.query(`drop schema ${rows.map(({ name }) => `"${name}"`).join(', ')} cascade`)
}

/** Discards log messages. */
export const silentLogger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}
