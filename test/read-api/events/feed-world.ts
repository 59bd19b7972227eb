import { randomBytes, randomUUID } from 'node:crypto'
import { openChannels, type Channels } from '../../../contracts/events/channels.ts'
import { ReadPositions } from '../../../engine/projections/read-positions.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { createCursors } from '../../../platform/http/cursors.ts'
import { eventFeedProjector } from '../../../projections/events/event-feed.projector.ts'
import { eventRoutes } from '../../../read-api/events/routes.ts'
import { countStreams, type OpenStreams } from '../../../engine/reads/open-streams.ts'
import { channelStreams } from '../../../streams/channels/channel-streams.ts'
import { silentLogger } from '../../../tools/equality/contents.ts'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { client, newTokenIssuer, startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { freshDatabase } from '../../support/postgres.ts'

/** A public event of a channel, without its envelope. */
export interface Published {
  readonly type: string
  readonly data: object
}

export const granted = (orgId: string, patientId = randomUUID()): Published => ({
  type: 'consent.granted',
  data: {
    org_id: orgId,
    type: 'consent.granted',
    patient_id: patientId,
    consent_type_code: 'ai',
    timestamp: '2026-03-01T10:00:00.000Z',
  },
})

export const disabled = (orgId: string): Published => ({
  type: 'webhook.endpoint.disabled',
  data: { org_id: orgId, subscription_id: randomUUID(), reason: 'requested', disabled_at: '2026-03-01T10:00:00.000Z' },
})

/** Event streams and waiting requests of a client at a time. */
export const mostOfClient = 2

interface TokenOptions {
  readonly clientId?: string
  readonly endsBy?: Date | null
}

/** The feed over an event store, its read model and a listening server. */
export interface FeedWorld {
  readonly world: DecisionWorld
  readonly t: TestApplication
  readonly address: string
  readonly channels: Channels
  readonly pool: Pool
  readonly streams: OpenStreams
  /** Runs before a cursor is compared with its channel. */
  onCheck: () => Promise<void>
  /** Appends signed events to a channel. Returns their ids. */
  publish(channel: string, ...events: readonly Published[]): Promise<string[]>
  /** Waits until the read model contains everything. */
  caughtUp(): Promise<void>
  /** Stops and starts the projector. */
  pauseProjector(): Promise<() => Promise<void>>
  token(orgId: string | null, scopes?: readonly string[], more?: TokenOptions): Promise<{ authorization: string }>
  close(): Promise<void>
}

export const originOfPages = 'https://app.example.org'

export async function openFeedWorld(): Promise<FeedWorld> {
  const [world, database] = await Promise.all([openDecisionWorld({ hasOwnNode: true }), freshDatabase()])
  const pool = createPool({ url: database.url, max: 8 })
  await ensureRuntimeSchema(pool)
  const projectors = [eventFeedProjector]
  const filter = { streamPrefixes: channelStreams.map(({ name }) => name) }
  const start = () => {
    const started = new ProjectionRunner({ eventStore: world.store, pool, projectors, filter, logger: silentLogger })
    started.start()
    return started
  }
  let runner = start()
  await runner.caughtUp()
  const reads = new ReadPositions({ pool, projectors })
  const issuer = newTokenIssuer()
  const channels = openChannels(world.store)
  const streams = countStreams(mostOfClient)
  const checked: Channels = {
    ...channels,
    async check(channel, place) {
      await feed.onCheck()
      return channels.check(channel, place)
    },
  }
  const cursors = createCursors({ key: randomBytes(32), now: world.now })
  const t = await startApplication({
    issuer,
    env: { CORS_ORIGINS: originOfPages },
    checkReplies: true,
    services: [
      {
        prefix: 'events',
        documentedAt: 'prefixed',
        mounts: ['prefixed'],
        routes: (app) => eventRoutes(app, { pool, cursors, channels: checked, streams }),
      },
    ],
  })
  const address = await t.app.listen({ host: '127.0.0.1', port: 0 })
  const revisions = new Map<string, bigint>()
  const feed: FeedWorld = {
    onCheck: async () => undefined,
    world,
    t,
    address,
    channels,
    pool,
    streams,
    async publish(channel, ...events) {
      const envelopes = events.map(({ type, data }) => {
        const id = randomUUID()
        const envelope = {
          event_id: id,
          event_type: type,
          occurred_at: world.now().toISOString(),
          schema_version: 1,
          causation_id: randomUUID(),
          correlation_id: randomUUID(),
          hop: 0,
        }
        const metadata = { commandId: randomUUID(), $correlationId: randomUUID(), $causationId: randomUUID() }
        return { id, type, data: { ...data, ...envelope }, metadata }
      })
      const { revision } = await world.store.appendRaw(channel, revisions.get(channel) ?? 'no_stream', envelopes)
      revisions.set(channel, revision)
      return envelopes.map(({ id }) => id)
    },
    async caughtUp() {
      const head = await world.store.head(filter)
      const { caughtUp } = await reads.waitFor(head, [eventFeedProjector.name], 30_000)
      if (!caughtUp) throw new Error('the feed has not caught up within 30 s')
    },
    async pauseProjector() {
      await runner.close()
      return async () => {
        runner = start()
        await runner.caughtUp()
      }
    },
    async token(orgId, scopes = ['events:read'], { clientId = randomUUID(), endsBy = null } = {}) {
      const { access_token: token } = await issuer.issue({ ...client, clientId, orgId, scopes }, endsBy)
      return { authorization: `Bearer ${token}` }
    },
    async close() {
      streams.close()
      const closing = t.app.close()
      // A client may keep a connection on which it has asked nothing.
      t.app.server.closeAllConnections()
      await closing
      await channels.close()
      reads.close()
      await runner.close()
      await pool.end()
      await world.close()
      await database.drop()
    },
  }
  return feed
}
