import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { createPastAnswers } from '../../../app/as-of/past-answers.ts'
import { withLoad } from '../../../app/as-of/past-of-services.ts'
import { projectedStreams } from '../../../app/projections/projected-streams.ts'
import { servicesOf, type ServiceDependencies } from '../../../app/services.ts'
import { builtInScopes } from '../../../commands/auth/scopes.ts'
import { auditRecords } from '../../../contracts/audit/records-in-order.ts'
import type { AsOf } from '../../../contracts/audit/as-of.ts'
import { ReadPositions } from '../../../engine/projections/read-positions.ts'
import type { Projector } from '../../../engine/projections/projector.ts'
import { ProjectionRunner } from '../../../engine/projections/runner.ts'
import { ensureRuntimeSchema } from '../../../engine/projections/schema.ts'
import { createPool, type Pool } from '../../../platform/database/database.ts'
import { createCursors } from '../../../platform/http/cursors.ts'
import { loadConfiguration } from '../../../platform/configuration/configuration.ts'
import type { Position } from '../../../platform/kit/positions.ts'
import { createLogger } from '../../../platform/observability/logging.ts'
import type { Access } from '../../../platform/http/shown-content.ts'
import { readModels } from '../../../projections/registry.ts'
import { silentLogger } from '../../../tools/equality/contents.ts'
import { openDecisionWorld, type DecisionWorld } from '../../engine/commands/decision-world.ts'
import { adminSecret, client, startApplication, type TestApplication } from '../../platform/http/test-application.ts'
import { freshDatabase } from '../../support/postgres.ts'
import { unusedParts } from '../../support/unused-parts.ts'

export interface PastWorld {
  readonly world: DecisionWorld
  readonly pool: Pool
  /** Recorded accesses. */
  readonly accesses: Access[]
  readonly asOf: AsOf
  /** Read models that count as not current. */
  readonly lagging: Set<string>
  /** Resolves when every read model contains the whole log. Returns its end. */
  caughtUp(): Promise<Position>
  /** Fills every read model again, by a program with newer versions of all projectors. */
  upgraded(): Promise<void>
  /** Names the servers for a command. */
  readonly env: Readonly<Record<string, string>>
  readonly t: TestApplication
  /** What today's route answers to a caller who sees the whole organisation, at this time. */
  today(orgId: string, path: string, now: Date): Promise<{ readonly status: number; readonly body: unknown }>
  close(): Promise<void>
}

/** All services over all read models, and their answers of the past. */
export async function openPastWorld(): Promise<PastWorld> {
  const [world, database] = await Promise.all([openDecisionWorld({ hasOwnNode: true }), freshDatabase()])
  const pool = createPool({ url: database.url, max: 8 })
  await ensureRuntimeSchema(pool)
  const filter = { streamPrefixes: projectedStreams }
  const started = async (projectors: readonly Projector[]) => {
    const options = { eventStore: world.store, pool, projectors, filter, logger: silentLogger }
    const running = new ProjectionRunner(options)
    running.start()
    await running.caughtUp()
    return running
  }
  let runner = await started(readModels)
  const reads = new ReadPositions({ pool, projectors: readModels })
  let now = new Date()
  const lagging = new Set<string>()
  const given = {
    ...unusedParts,
    isCurrent: async (projector: string) => !lagging.has(projector),
    configuration: loadConfiguration({ RATE_LIMITS: 'off', ADMIN_API_SECRET: adminSecret }),
    store: world.store,
    vault: world.vault,
    objects: {
      ...unusedParts.objects,
      presignDownload: async () => ({ url: 'https://images.example/signed', expiresAt: new Date(0) }),
    },
    pool,
    cursors: createCursors({ key: randomBytes(32) }),
    records: auditRecords(world.store),
    now: () => now,
  }
  const servicesFor = (past: Partial<ServiceDependencies>) => servicesOf({ ...given, ...past })
  const asOf = createPastAnswers({
    ...given,
    now: () => new Date(),
    logger: createLogger({ level: 'warn' }),
    services: ({ load, ...parts }) => servicesFor({ ...parts, store: withLoad(world.store, load) }),
  })
  const accesses: Access[] = []
  const t = await startApplication({
    accessLog: { record: async (access) => void accesses.push(access) },
    env: { RATE_LIMITS: 'off', ADMIN_API_SECRET: adminSecret },
    services: servicesFor({ asOf }),
  })
  return {
    world,
    pool,
    accesses,
    asOf,
    lagging,
    async caughtUp() {
      const head = await world.store.head(filter)
      const { caughtUp } = await reads.waitFor(
        head,
        readModels.map(({ name }) => name),
        60_000,
      )
      if (!caughtUp) throw new Error('the read models have not caught up within 60 s')
      return head
    },
    async upgraded() {
      const newer = readModels.map((projector) => ({ ...projector, version: projector.version + 1 }))
      await runner.close()
      runner = await started(newer)
      const states = runner.status().map(({ version, state }) => ({ version, state }))
      expect(states).toEqual(newer.map(({ version }) => ({ version, state: 'live' })))
    },
    env: {
      ESDB_URL: world.url,
      DATABASE_URL: database.url,
      VAULT_DATABASE_URL: world.vaultUrl,
      MASTER_KEYS: world.masterKeys,
      // No answer of the past reads it.
      S3_ENDPOINT: 'http://127.0.0.1:9',
      S3_BUCKET: 'assessments',
      S3_ACCESS_KEY_ID: 'test',
      S3_SECRET_ACCESS_KEY: 'test',
    },
    t,
    async today(orgId, path, at) {
      now = at
      const token = await t.token({ ...client, orgId, scopes: [...builtInScopes.keys()] })
      const answer = await t.app.inject({ url: path, headers: { ...token, 'x-admin-api-secret': adminSecret } })
      return { status: answer.statusCode, body: answer.json() }
    },
    async close() {
      await asOf.close()
      await t.app.close()
      reads.close()
      await runner.close()
      await pool.end()
      await Promise.all([world.close(), database.drop()])
    },
  }
}
