import { randomBytes, randomUUID } from 'node:crypto'
import { auditRecords } from '../../../contracts/audit/records-in-order.ts'
import { ReadPositions } from '../../../engine/projections/read-positions.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import type { DomainEvent, Fold, RecordedEvent } from '../../../engine/store/events.ts'
import type { Access } from '../../../platform/http/shown-content.ts'
import { projectedStreams } from '../../../app/projections/projected-streams.ts'
import type { EventStore } from '../../../engine/store/event-store.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { createCursors } from '../../../platform/http/cursors.ts'
import { auditSubjectsProjector } from '../../../projections/audit/audit-subjects.projector.ts'
import { timelineRoute } from '../../../read-api/audit/timeline-route.ts'
import { startOfLog } from '../../../platform/kit/positions.ts'
import { silentLogger } from '../../../tools/equality/contents.ts'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { client, newTokenIssuer, startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { freshDatabase } from '../../support/postgres.ts'

/** An event and its stream. */
export interface PlacedEvent {
  readonly stream: string
  readonly event: DomainEvent
}

/** The routes of audit over an event store and their read model. */
export interface AuditWorld {
  readonly world: DecisionWorld
  readonly t: TestApplication
  /** Of the read model. */
  readonly pool: Pool
  /** Recorded accesses. */
  readonly accesses: Access[]
  /** Reads of the event store until now. */
  readonly reads: () => number
  /** Appends each event alone, in this order. */
  append(orgId: string, ...events: readonly PlacedEvent[]): Promise<void>
  /** Appends all events at once. */
  appendTogether(orgId: string, stream: string, events: readonly DomainEvent[]): Promise<void>
  /** Resolves when the read model contains everything. */
  caughtUp(): Promise<void>
  /** Every stored event in the order of the log, decrypted. */
  log(): Promise<RecordedEvent[]>
  token(orgId: string | null, scopes?: readonly string[], more?: object): Promise<{ authorization: string }>
  close(): Promise<void>
}

/** An event of any type. The codec checks it. */
const anyFold: Fold<null, DomainEvent> = { category: '', initialState: null, evolve: () => null }

export async function openAuditWorld(): Promise<AuditWorld> {
  const [world, database] = await Promise.all([openDecisionWorld({ hasOwnNode: true }), freshDatabase()])
  const pool = createPool({ url: database.url, max: 8 })
  await ensureRuntimeSchema(pool)
  const projectors = [auditSubjectsProjector]
  const filter = { streamPrefixes: projectedStreams }
  const runner = new ProjectionRunner({ eventStore: world.store, pool, projectors, filter, logger: silentLogger })
  runner.start()
  await runner.caughtUp()
  const reads = new ReadPositions({ pool, projectors })
  const issuer = newTokenIssuer()
  const cursors = createCursors({ key: randomBytes(32), now: world.now })
  let count = 0
  const counted: Pick<EventStore, 'readRecords'> = {
    readRecords(...asked) {
      count += 1
      return world.store.readRecords(...asked)
    },
  }
  const deps = { pool, cursors, records: auditRecords(counted) }
  const accesses: Access[] = []
  const t = await startApplication({
    issuer,
    accessLog: { record: async (access) => void accesses.push(access) },
    checkReplies: true,
    services: [
      { prefix: 'audit', documentedAt: 'prefixed', mounts: ['prefixed'], routes: (app) => timelineRoute(app, deps) },
    ],
  })
  const revisions = new Map<string, bigint>()
  const audit: AuditWorld = {
    world,
    t,
    pool,
    accesses,
    reads: () => count,
    async append(orgId, ...events) {
      for (const { stream, event } of events) await audit.appendTogether(orgId, stream, [event])
    },
    async appendTogether(orgId, stream, events) {
      const expected = revisions.get(stream) ?? 'no_stream'
      const context = { commandId: randomUUID(), correlationId: randomUUID(), orgId, clientId: 'test', requestId: 'r' }
      const { revision } = await world.store.append({ fold: anyFold, stream }, expected, events, context)
      revisions.set(stream, revision)
    },
    async caughtUp() {
      const { caughtUp } = await reads.waitFor(await world.store.head(filter), [auditSubjectsProjector.name], 30_000)
      if (!caughtUp) throw new Error('the index has not caught up within 30 s')
    },
    async log() {
      const events: RecordedEvent[] = []
      const upTo = await world.store.head(filter)
      const range = { filter, after: startOfLog, upTo, wants: () => true, opens: () => true, batchSize: 500 }
      for await (const batch of world.store.readLog(range)) events.push(...batch.events)
      return events
    },
    async token(orgId, scopes = ['audit:read'], more = {}) {
      const { access_token: token } = await issuer.issue({ ...client, clientId: randomUUID(), orgId, scopes, ...more })
      return { authorization: `Bearer ${token}` }
    },
    async close() {
      await t.app.close()
      reads.close()
      await runner.close()
      await pool.end()
      await Promise.all([world.close(), database.drop()])
    },
  }
  return audit
}
